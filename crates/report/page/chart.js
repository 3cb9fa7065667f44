// Lines, bands and bars over time, as SVG. All charts show one span of time and one cursor.

const CHART = { left: 58, right: 10, top: 8, bottom: 26 };

/** The least step of 1, 2 or 5 times a power of ten that is not smaller than this. */
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999);
}

/** Values at which an axis is labelled: at most `most`, at 1, 2 or 5 times a power of ten. */
function ticks(low, high, most) {
  const rough = (high - low) / Math.max(most, 1);
  if (!(rough > 0)) return [low];
  const step = roundStep(rough);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) found.push(Number((k * step).toPrecision(12)));
  return found;
}

function powersOfTen(low, high) {
  const found = [];
  const every = Math.max(1, Math.ceil((Math.log10(high) - Math.log10(low)) / 6));
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power += every) found.push(10 ** power);
  return found;
}

/**
 * A chart in its place. `spec` has: title; unit; caption; height; log (the axis of values), down to `least`; describe() for those who
 * do not see it; and layers(), a list of
 *   { kind: 'strip', low, high }                            an interval in which values should be
 *   { kind: 'level', at }                                   a value that is right
 *   { kind: 'area', t, low, high, color }                   a band over time
 *   { kind: 'line', t, y, color, name }                     a line; null makes a gap
 *   { kind: 'bars', width, stacks: [{ name, color, y }] }   sums of equal stretches of time
 */
function chart(parent, spec) {
  const plot = element('div', { class: 'plot', tabindex: '0', role: 'img' });
  const values = element('p', { class: 'values', 'aria-hidden': 'true' });
  const caption = element('p', { class: 'caption' }, spec.caption ?? '');
  parent.append(element('div', { class: 'chart' }, element('h3', {}, `${spec.title}${spec.unit ? ` [${spec.unit}]` : ''}`), plot, values, caption));
  let cursor = null;
  let selected = null;
  let drag = null;
  let frame = null;
  let shown = [];

  const inner = () => frame.width - CHART.left - CHART.right;
  const timeAt = (x) => page.span[0] + ((x - CHART.left) / inner()) * (page.span[1] - page.span[0]);
  const xAt = (time) => CHART.left + ((time - page.span[0]) / (page.span[1] - page.span[0])) * inner();

  function bounds(layers) {
    let [low, high] = [Infinity, -Infinity];
    const take = (value) => {
      if (!known(value) || (spec.log && value <= 0)) return;
      low = Math.min(low, value);
      high = Math.max(high, value);
    };
    for (const layer of layers) {
      if (layer.kind === 'strip') [layer.low, layer.high].forEach(take);
      if (layer.kind === 'level') take(layer.at);
      if (layer.kind === 'bars') {
        take(0);
        const totals = layer.stacks[0]?.y.map((_, k) => layer.stacks.reduce((sum, stack) => sum + stack.y[k], 0)) ?? [];
        totals.forEach((total, k) => (k + 1) * layer.width >= page.span[0] && k * layer.width <= page.span[1] && take(total));
      }
      if (!layer.t) continue;
      const [from, to] = stretch(layer.t);
      for (let k = from; k <= to; k += 1) (layer.y ? [layer.y[k]] : [layer.low[k], layer.high[k]]).forEach(take);
    }
    if (low > high) return spec.log ? [0.1, 10] : [-1, 1];
    // What is smaller than `least` lies on the lower edge: a first error of zero would take all of the axis.
    if (spec.log) return [Math.min(Math.max(low, spec.least ?? 0), high) / 1.3, high * 1.3];
    const room = 0.05 * (high - low || Math.abs(high) || 1);
    return [low === 0 ? 0 : low - room, high + room];
  }

  /** The part of a column that is seen, and one more at either end. */
  function stretch(t) {
    return [Math.max(lastAt(t, page.span[0]), 0), Math.min(lastAt(t, page.span[1]) + 1, t.length - 1)];
  }

  function draw() {
    // On paper, two stand beside each other.
    const width = page.isPrinting ? 560 : Math.max(plot.clientWidth, 240);
    const height = spec.height ?? 190;
    frame = { width, height };
    const layers = spec.layers();
    shown = layers;
    const [low, high] = bounds(layers);
    const scale = spec.log ? Math.log10 : (value) => value;
    const inside = height - CHART.top - CHART.bottom;
    const yAt = (value) => {
      const at = spec.log && value <= 0 ? 0 : (scale(value) - scale(low)) / (scale(high) - scale(low));
      return CHART.top + (1 - clamp(at, -0.5, 1.5)) * inside;
    };
    const clip = `clip-${Math.random().toString(36).slice(2)}`;
    const body = drawn('g', { 'clip-path': `url(#${clip})` });
    const axes = drawn('g', {});
    for (const value of spec.log ? powersOfTen(low, high) : ticks(low, high, Math.max(2, inside / 38))) {
      const y = yAt(value).toFixed(1);
      axes.append(drawn('line', { class: 'tick', x1: CHART.left, x2: width - CHART.right, y1: y, y2: y }));
      axes.append(drawn('text', { x: CHART.left - 6, y, 'text-anchor': 'end', dy: '.32em' }, label(value, 4)));
    }
    for (const time of ticks(page.span[0], page.span[1], inner() / 90)) {
      const x = xAt(time);
      axes.append(drawn('line', { class: 'tick', x1: x, x2: x, y1: CHART.top, y2: height - CHART.bottom }));
      if (x < width - 34) axes.append(drawn('text', { x, y: height - 9, 'text-anchor': 'middle' }, label(time, 7)));
    }
    axes.append(drawn('text', { x: width - CHART.right, y: height - 9, 'text-anchor': 'end' }, 's'));
    axes.append(drawn('line', { class: 'axis', x1: CHART.left, x2: width - CHART.right, y1: height - CHART.bottom, y2: height - CHART.bottom }));
    for (const layer of layers) drawLayer(body, layer, yAt);
    cursor = drawn('line', { class: 'cursor', y1: CHART.top, y2: height - CHART.bottom });
    selected = drawn('rect', { class: 'selected', y: CHART.top, height: inside, width: 0 });
    body.append(cursor, selected);
    const area = drawn('clipPath', { id: clip }, drawn('rect', { x: CHART.left, y: CHART.top, width: inner(), height: inside }));
    plot.replaceChildren(drawn('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' }, drawn('defs', {}, area), axes, body));
    plot.setAttribute('aria-label', `${spec.title}. ${spec.describe?.() ?? ''} Left and right move the moment, plus and minus zoom in time, 0 shows all.`);
    moveCursor();
  }

  function drawLayer(body, layer, yAt) {
    if (layer.kind === 'strip') {
      const [top, bottom] = [yAt(layer.high), yAt(layer.low)];
      body.append(drawn('rect', { class: 'strip', x: CHART.left, width: inner(), y: top, height: Math.max(bottom - top, 0) }));
    } else if (layer.kind === 'level') {
      body.append(drawn('line', { class: 'level', x1: CHART.left, x2: frame.width - CHART.right, y1: yAt(layer.at), y2: yAt(layer.at) }));
    } else if (layer.kind === 'area') {
      const [from, to] = stretch(layer.t);
      let [above, below] = ['', ''];
      for (let k = from; k <= to; k += 1) {
        if (!known(layer.low[k]) || !known(layer.high[k])) continue;
        const x = xAt(layer.t[k]).toFixed(1);
        above += `${above ? 'L' : 'M'}${x} ${yAt(layer.high[k]).toFixed(1)}`;
        below = `L${x} ${yAt(layer.low[k]).toFixed(1)}${below}`;
      }
      const path = drawn('path', { d: above ? `${above}${below}Z` : '' });
      path.style.cssText = `fill: ${layer.color}; opacity: var(--band)`;
      body.append(path);
    } else if (layer.kind === 'line') {
      const [from, to] = stretch(layer.t);
      let [d, isOpen] = ['', false];
      for (let k = from; k <= to; k += 1) {
        const isThere = known(layer.y[k]) && !(spec.log && layer.y[k] <= 0);
        if (isThere) d += `${isOpen ? 'L' : 'M'}${xAt(layer.t[k]).toFixed(1)} ${yAt(layer.y[k]).toFixed(1)}`;
        isOpen = isThere;
      }
      const path = drawn('path', { d });
      path.style.cssText = `fill: none; stroke: ${layer.color}; stroke-width: ${layer.thickness ?? 1.4}; stroke-linejoin: round`;
      body.append(path);
    } else if (layer.kind === 'bars') {
      layer.stacks[0]?.y.forEach((_, k) => {
        let sum = 0;
        for (const stack of layer.stacks) {
          if (stack.y[k] === 0) continue;
          const [from, to] = [xAt(k * layer.width), xAt((k + 1) * layer.width)];
          const bar = drawn('rect', { x: from.toFixed(1), width: Math.max(to - from - 0.6, 0.4).toFixed(1), y: yAt(sum + stack.y[k]).toFixed(1),
            height: Math.max(yAt(sum) - yAt(sum + stack.y[k]), 0).toFixed(1) });
          bar.style.fill = stack.color;
          body.append(bar);
          sum += stack.y[k];
        }
      });
    }
  }

  function moveCursor() {
    if (!frame) return;
    const x = xAt(page.time).toFixed(1);
    cursor.setAttribute('x1', x);
    cursor.setAttribute('x2', x);
    tell(page.time);
  }

  function tell(time) {
    const said = [element('span', {}, moment(time))];
    for (const layer of shown) {
      if (layer.kind === 'line' && layer.name) {
        const k = lastAt(layer.t, time);
        said.push(element('span', {}, swatch(layer.color), `${layer.name} ${k < 0 ? '–' : digits(layer.y[k], 3)}`));
      } else if (layer.kind === 'bars') {
        const k = Math.min(Math.max(Math.floor(time / layer.width), 0), (layer.stacks[0]?.y.length ?? 1) - 1);
        for (const stack of layer.stacks) said.push(element('span', {}, swatch(stack.color), `${stack.name} ${whole(stack.y[k])}`));
      }
    }
    values.replaceChildren(...said);
  }

  const place = (event) => ((event.clientX - plot.getBoundingClientRect().left) * frame.width) / plot.clientWidth;
  plot.addEventListener('pointerdown', (event) => {
    if (event.button === 0) drag = { from: place(event), to: place(event) };
  });
  plot.addEventListener('pointermove', (event) => {
    tell(clamp(timeAt(place(event)), page.span[0], page.span[1]));
    if (!drag) return;
    drag.to = place(event);
    selected.setAttribute('x', Math.min(drag.from, drag.to));
    selected.setAttribute('width', Math.abs(drag.to - drag.from));
  });
  plot.addEventListener('pointerleave', () => tell(page.time));
  plot.addEventListener('pointercancel', () => { drag = null; selected.setAttribute('width', 0); });
  plot.addEventListener('pointerup', (event) => {
    if (!drag) return;
    const [from, to] = [drag.from, place(event)].sort((a, b) => a - b).map(timeAt);
    drag = null;
    if (xAt(to) - xAt(from) > 8) chooseSpan(from, to);
    else chooseTime(from);
  });
  plot.addEventListener('dblclick', () => chooseSpan(0, page.data.duration_s));
  plot.addEventListener('keydown', (event) => {
    const width = page.span[1] - page.span[0];
    const zoom = (factor) => chooseSpan(page.time - 0.5 * width * factor, page.time + 0.5 * width * factor);
    const actions = {
      ArrowLeft: () => chooseTime(page.time - 0.01 * width), ArrowRight: () => chooseTime(page.time + 0.01 * width),
      Home: () => chooseTime(page.span[0]), End: () => chooseTime(page.span[1]),
      '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), 0: () => chooseSpan(0, page.data.duration_s),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
  });
  return { draw, moveCursor };
}

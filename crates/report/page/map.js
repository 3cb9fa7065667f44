// The map: where the robot was, what it took the world for, and what it read at the moment that is chosen.

/** The square of the 95 % radius of a two-dimensional Gaussian. */
const RADIUS_95 = Math.sqrt(5.991464547);

/** A run of more than this, s, opens with so much of its end, s. */
const LONG_S = 300;
const LAST_S = 60;

const map = {
  /** The middle of the view, m, and pixels for each metre; null until there is something to fit. */
  view: null,
  isFollowing: false,
  /** What is drawn, and how many times too large ellipses are. */
  layers: { truth: true, landmarks: true, readings: true, ids: false },
  magnified: 1,
  /** How much of the way before the moment is drawn, s; null for the whole run, before and after it. */
  trail: null,
  canvas: null,
  size: { width: 0, height: 0 },
  isWaiting: false,
};

/** The half axes and the direction of a 95 % ellipse; null where the covariance is none. */
function ellipseOf(xx, xy, yy) {
  if (![xx, xy, yy].every(known)) return null;
  const [middle, half] = [(xx + yy) / 2, Math.hypot((xx - yy) / 2, xy)];
  if (middle + half <= 0) return null;
  return {
    major: RADIUS_95 * Math.sqrt(middle + half),
    minor: RADIUS_95 * Math.sqrt(Math.max(middle - half, 0)),
    angle: 0.5 * Math.atan2(2 * xy, xx - yy),
  };
}

/** All points that a map has to show, m: [low x, low y, high x, high y]. */
function extent() {
  let box = [Infinity, Infinity, -Infinity, -Infinity];
  const take = (xs, ys) => {
    for (let k = 0; k < xs.length; k += 1) {
      if (!known(xs[k]) || !known(ys[k])) continue;
      box = [Math.min(box[0], xs[k]), Math.min(box[1], ys[k]), Math.max(box[2], xs[k]), Math.max(box[3], ys[k])];
    }
  };
  for (const [xs, ys] of page.data.truth.pieces) take(xs, ys);
  take(page.data.truth.x, page.data.truth.y);
  for (const filter of shownFilters()) {
    take(filter.rows.x, filter.rows.y);
    const last = filter.maps.at(-1);
    if (last) take(last.x, last.y);
  }
  return box[0] > box[2] ? [-1, -1, 1, 1] : box;
}

function fitMap() {
  const [left, bottom, right, top] = extent();
  const { width, height } = map.size;
  const room = 44;
  const scale = Math.min((width - room) / Math.max(right - left, 1e-3), (height - room) / Math.max(top - bottom, 1e-3));
  map.view = { x: (left + right) / 2, y: (bottom + top) / 2, scale: Math.max(scale, 1e-6) };
  askForMap();
}

function zoomMap(factor, at = { x: map.size.width / 2, y: map.size.height / 2 }) {
  const before = toMap(at);
  map.view.scale = clamp(map.view.scale * factor, 1e-4, 1e6);
  const after = toMap(at);
  map.view.x += before.x - after.x;
  map.view.y += before.y - after.y;
  askForMap();
}

function panMap(dx, dy) {
  map.view.x -= dx / map.view.scale;
  map.view.y += dy / map.view.scale;
  askForMap();
}

const toMap = ({ x, y }) => ({
  x: map.view.x + (x - map.size.width / 2) / map.view.scale,
  y: map.view.y - (y - map.size.height / 2) / map.view.scale,
});
const onCanvas = (x, y) => [
  map.size.width / 2 + (x - map.view.x) * map.view.scale,
  map.size.height / 2 - (y - map.view.y) * map.view.scale,
];

/** Draws with the next frame, once for any number of reasons. */
function askForMap() {
  if (map.isWaiting) return;
  map.isWaiting = true;
  requestAnimationFrame(() => { map.isWaiting = false; drawMap(); });
}

function drawMap() {
  const { canvas } = map;
  // On paper, the stage has this shape (page.css).
  const [width, height] = page.isPrinting ? [760, 340] : [canvas.clientWidth, canvas.clientHeight];
  if (width === 0 || height === 0) return;
  const isResized = width !== map.size.width || height !== map.size.height;
  map.size = { width, height };
  if (!map.view) fitMap();
  else if (isResized && map.fitted) fitMap();
  const density = Math.max(window.devicePixelRatio || 1, page.isPrinting ? 3 : 1);
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  const pen = canvas.getContext('2d');
  pen.setTransform(density, 0, 0, density, 0, 0);
  const style = (name) => styled(name);
  const filter = focused();
  const row = filter ? lastAt(filter.rows.t, page.time) : -1;
  if (map.isFollowing && row >= 0) [map.view.x, map.view.y] = [filter.rows.x[row], filter.rows.y[row]];
  pen.fillStyle = style('--card');
  pen.fillRect(0, 0, width, height);
  drawGrid(pen, style);
  if (map.layers.truth) drawTruth(pen, style('--truth'));
  for (const other of shownFilters()) if (other !== filter) drawWay(pen, other, style(`--c${page.data.filters.indexOf(other) % 8}`));
  if (!filter) return;
  const color = style(`--c${page.focus % 8}`);
  if (!page.hidden.has(filter.name)) drawWay(pen, filter, color);
  if (map.layers.landmarks) drawLandmarks(pen, filter, color, style('--quiet'));
  if (map.layers.readings && row >= 0) drawReadings(pen, filter, row, style);
  for (const other of shownFilters()) if (other !== filter) drawRobot(pen, other, style(`--c${page.data.filters.indexOf(other) % 8}`), style);
  drawRobot(pen, filter, color, style, true);
}

function drawGrid(pen, style) {
  const { width, height } = map.size;
  const step = roundStep(90 / map.view.scale);
  const [low, high] = [toMap({ x: 0, y: height }), toMap({ x: width, y: 0 })];
  pen.lineWidth = 1;
  pen.strokeStyle = style('--grid');
  pen.fillStyle = style('--quiet');
  pen.font = '11px system-ui, sans-serif';
  for (let k = Math.ceil(low.x / step); k * step < high.x; k += 1) {
    const [x] = onCanvas(k * step, 0);
    line(pen, [[x, 0], [x, height]]);
    pen.fillText(label(k * step, 8), x + 3, height - 5);
  }
  for (let k = Math.ceil(low.y / step); k * step < high.y; k += 1) {
    const [, y] = onCanvas(0, k * step);
    line(pen, [[0, y], [width, y]]);
    if (y < height - 18) pen.fillText(`${label(k * step, 8)} m`, 4, y - 3);
  }
}

function line(pen, points) {
  pen.beginPath();
  points.forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.stroke();
}

function drawTruth(pen, color) {
  pen.strokeStyle = color;
  pen.lineWidth = 1.4;
  pen.setLineDash([6, 4]);
  if (map.trail === null) {
    for (const [xs, ys] of page.data.truth.pieces) line(pen, xs.map((x, k) => onCanvas(x, ys[k])));
  } else if (focused()) {
    const { t, x, y, ex, ey } = focused().rows;
    const seen = t.map((_, k) => k).filter((k) => t[k] <= page.time && t[k] >= page.time - map.trail && known(ex[k]));
    line(pen, seen.map((k) => onCanvas(x[k] - ex[k], y[k] - ey[k])));
  }
  pen.setLineDash([]);
  const { id, x, y } = page.data.truth;
  pen.lineWidth = 1.3;
  id.forEach((_, k) => {
    const [at, down] = onCanvas(x[k], y[k]);
    line(pen, [[at - 4, down], [at + 4, down]]);
    line(pen, [[at, down - 4], [at, down + 4]]);
  });
}

/** The way up to the moment as a line, and the rest of it faintly. */
function drawWay(pen, filter, color) {
  const { t, x, y } = filter.rows;
  const now = lastAt(t, page.time);
  pen.strokeStyle = color;
  pen.lineJoin = 'round';
  const since = map.trail === null ? 0 : Math.max(lastAt(t, page.time - map.trail), 0);
  const after = map.trail === null ? [[Math.max(now, 0), t.length - 1, 0.3, 1]] : [];
  for (const [from, to, strength, width] of [...after, [since, now, 1, map.trail === null ? 1.5 : 2.2]]) {
    pen.globalAlpha = strength;
    pen.lineWidth = width;
    pen.beginPath();
    let isOpen = false;
    for (let k = from; k <= to; k += 1) {
      if (!known(x[k]) || !known(y[k])) { isOpen = false; continue; }
      const [at, down] = onCanvas(x[k], y[k]);
      if (isOpen) pen.lineTo(at, down);
      else pen.moveTo(at, down);
      isOpen = true;
    }
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

function drawEllipse(pen, x, y, covariance) {
  const ellipse = ellipseOf(...covariance);
  if (!ellipse || !known(x) || !known(y)) return;
  const [at, down] = onCanvas(x, y);
  const size = map.view.scale * map.magnified;
  pen.beginPath();
  pen.ellipse(at, down, clamp(ellipse.major * size, 0.1, 2e4), clamp(ellipse.minor * size, 0.1, 2e4), -ellipse.angle, 0, 2 * Math.PI);
  pen.globalAlpha = 0.16;
  pen.fill();
  pen.globalAlpha = 1;
  pen.stroke();
}

function drawLandmarks(pen, filter, color, quiet) {
  const found = filter.maps[Math.max(lastAt(filter.maps.map((one) => one.t), page.time), 0)];
  if (!found || found.t > page.time + 1e-6) return;
  pen.strokeStyle = color;
  pen.fillStyle = color;
  pen.lineWidth = 1.1;
  found.id.forEach((id, k) => {
    drawEllipse(pen, found.x[k], found.y[k], [found.xx[k], found.xy[k], found.yy[k]]);
    const [at, down] = onCanvas(found.x[k], found.y[k]);
    pen.beginPath();
    pen.arc(at, down, 2.4, 0, 2 * Math.PI);
    pen.fill();
    if (!map.layers.ids) return;
    pen.fillStyle = quiet;
    pen.fillText(String(id), at + 6, down - 5);
    pen.fillStyle = color;
  });
}

/** The readings of the newest cloud at or before the moment. */
function readingsAt(filter, time) {
  const { t, start } = filter.readings;
  const k = lastAt(t, time);
  return k < 0 ? null : { t: t[k], from: start[k], to: start[k + 1] };
}

function drawReadings(pen, filter, row, style) {
  const found = readingsAt(filter, page.time);
  if (!found) return;
  const seenFrom = lastAt(filter.rows.t, found.t);
  if (seenFrom < 0) return;
  const { x, y, yaw } = filter.rows;
  const [cosine, sine] = [Math.cos(yaw[seenFrom]), Math.sin(yaw[seenFrom])];
  const colors = ['--used', '--added', '--gated'].map(style);
  const readings = filter.readings;
  for (let k = found.from; k < found.to; k += 1) {
    const place = [x[seenFrom] + cosine * readings.x[k] - sine * readings.y[k], y[seenFrom] + sine * readings.x[k] + cosine * readings.y[k]];
    const [at, down] = onCanvas(...place);
    const role = readings.role[k] % 3;
    pen.strokeStyle = colors[role];
    pen.lineWidth = 1.2;
    pen.setLineDash(role === 2 ? [3, 3] : []);
    line(pen, [onCanvas(x[seenFrom], y[seenFrom]), [at, down]]);
    pen.setLineDash([]);
    if (readings.role[k] > 2) continue;
    pen.lineWidth = 1.8;
    if (role === 2) {
      line(pen, [[at - 5, down - 5], [at + 5, down + 5]]);
      line(pen, [[at - 5, down + 5], [at + 5, down - 5]]);
    } else {
      pen.strokeRect(at - 4, down - 4, 8, 8);
    }
  }
}

function drawRobot(pen, filter, color, style, isFocused = false) {
  const { rows } = filter;
  const k = lastAt(rows.t, page.time);
  if (k < 0 || !known(rows.x[k]) || !known(rows.yaw[k])) return;
  pen.strokeStyle = color;
  pen.fillStyle = color;
  pen.lineWidth = 1.4;
  drawEllipse(pen, rows.x[k], rows.y[k], [rows.xx[k], rows.xy[k], rows.yy[k]]);
  if (isFocused && map.layers.truth && known(rows.ex[k])) {
    pen.strokeStyle = style('--truth');
    pen.lineWidth = 1.8;
    outline(pen, rows.x[k] - rows.ex[k], rows.y[k] - rows.ey[k], rows.yaw[k] - rows.eyaw[k]);
    pen.stroke();
  }
  pen.fillStyle = color;
  pen.strokeStyle = style('--card');
  pen.lineWidth = 1.2;
  outline(pen, rows.x[k], rows.y[k], rows.yaw[k]);
  pen.fill();
  pen.stroke();
}

/** A robot that looks ahead: its size is that of the screen, not of the map. */
function outline(pen, x, y, yaw) {
  const [at, down] = onCanvas(x, y);
  const turn = ([ahead, left]) => [at + ahead * Math.cos(yaw) - left * Math.sin(yaw), down - (ahead * Math.sin(yaw) + left * Math.cos(yaw))];
  pen.beginPath();
  [[13, 0], [-8, 7.5], [-4.5, 0], [-8, -7.5]].map(turn).forEach(([a, b], k) => (k ? pen.lineTo(a, b) : pen.moveTo(a, b)));
  pen.closePath();
}

/** Makes the canvas, its tools, the clock and the legend. */
function makeMap() {
  // Of a long run, all of the way is a tangle.
  if (page.data.duration_s > LONG_S) map.trail = LAST_S;
  const canvas = element('canvas', { tabindex: '0', role: 'img', id: 'canvas' });
  map.canvas = canvas;
  const button = (text, label, act) => element('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, text);
  const freely = (act) => () => { map.fitted = false; act(); };
  const fit = () => { map.fitted = true; fitMap(); };
  map.fitted = true;
  byId('stage').replaceChildren(canvas, element('div', { class: 'zoom' },
    button('+', 'Zoom in', freely(() => zoomMap(1.4))), button('−', 'Zoom out', freely(() => zoomMap(1 / 1.4))), button('⤢', 'Show all', fit)));
  const tick = (name, text) => element('label', {}, element('input', { type: 'checkbox', checked: map.layers[name],
    onchange: (event) => { map.layers[name] = event.target.checked; askForMap(); makeLegend(); } }), text);
  const follow = element('label', {}, element('input', { type: 'checkbox', checked: map.isFollowing,
    onchange: (event) => { map.isFollowing = event.target.checked; askForMap(); } }), 'follow the robot');
  const sizes = element('select', { id: 'magnified', onchange: (event) => { map.magnified = Number(event.target.value); askForMap(); makeLegend(); } },
    [1, 5, 20, 100].map((size) => element('option', { value: size, selected: size === map.magnified }, `× ${size}`)));
  const trails = element('select', { id: 'trail', onchange: (event) => { map.trail = Number(event.target.value) || null; askForMap(); } },
    [0, 120, 60, 30, 10].map((span) => element('option', { value: span, selected: span === (map.trail ?? 0) }, span ? `last ${lasting(span)}` : 'whole run')));
  byId('map-tools').replaceChildren(tick('truth', 'truth'), tick('landmarks', 'landmarks'), tick('readings', 'readings'), tick('ids', 'numbers'),
    follow, element('label', { for: 'trail' }, 'way', trails), element('label', { for: 'magnified' }, 'ellipses', sizes));
  makeGestures(canvas);
  makeClock();
  makeLegend();
}

function makeGestures(canvas) {
  const fingers = new Map();
  const place = (event) => ({ x: event.offsetX, y: event.offsetY });
  const freely = () => { map.fitted = false; };
  canvas.addEventListener('wheel', (event) => {
    // The page scrolls unless the map was chosen before.
    if (document.activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    freely();
    zoomMap(Math.exp(-0.0015 * event.deltaY), place(event));
  }, { passive: false });
  canvas.addEventListener('pointerdown', (event) => {
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
  });
  canvas.addEventListener('pointermove', (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const now = place(event);
    freely();
    const other = [...fingers].find(([finger]) => finger !== event.pointerId)?.[1];
    fingers.set(event.pointerId, now);
    if (!other) return panMap(now.x - before.x, now.y - before.y);
    const apart = (a, b) => Math.max(Math.hypot(a.x - b.x, a.y - b.y), 1);
    zoomMap(apart(now, other) / apart(before, other), other);
  });
  for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, (event) => fingers.delete(event.pointerId));
  canvas.addEventListener('keydown', (event) => {
    const actions = {
      ArrowLeft: () => panMap(40, 0), ArrowRight: () => panMap(-40, 0), ArrowUp: () => panMap(0, 40), ArrowDown: () => panMap(0, -40),
      '+': () => zoomMap(1.25), '=': () => zoomMap(1.25), '-': () => zoomMap(0.8), 0: () => { fitMap(); map.fitted = true; },
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    freely();
    actions[event.key]();
  });
}

function makeClock() {
  const slider = element('input', { type: 'range', id: 'slider', min: 0, 'aria-label': 'Moment, seconds since the start',
    oninput: (event) => chooseTime(Number(event.target.value)) });
  const output = element('output', { for: 'slider', id: 'now' });
  const speed = element('select', { 'aria-label': 'Speed', id: 'speed' },
    [1, 2, 5, 10, 20, 50, 100].map((times) => element('option', { value: times }, `${times} ×`)));
  const likely = page.data.duration_s / 30;
  speed.value = [1, 2, 5, 10, 20, 50, 100].findLast((times) => times <= Math.max(likely, 1));
  let last = null;
  const play = element('button', { type: 'button', id: 'play', onclick: () => {
    if (last === null && page.time >= page.data.duration_s) chooseTime(0);
    last = last === null ? performance.now() : null;
    name();
    if (last !== null) requestAnimationFrame(turn);
  } });
  const name = () => { play.textContent = last === null ? '▶ Play' : '❚❚ Pause'; };
  const turn = (now) => {
    if (last === null) return;
    chooseTime(page.time + (Math.max(now - last, 0) / 1000) * Number(speed.value));
    last = page.time < page.data.duration_s ? now : null;
    if (last === null) name();
    else requestAnimationFrame(turn);
  };
  name();
  byId('clock').replaceChildren(play, slider, output, speed);
}

/** Brings slider, clock and the sentence below them to the moment. */
function tellMoment() {
  const slider = byId('slider');
  slider.max = page.data.duration_s;
  slider.step = Math.max(page.data.duration_s / 2000, 1e-3);
  slider.value = page.time;
  slider.setAttribute('aria-valuetext', `${page.time.toFixed(2)} seconds of ${page.data.duration_s.toFixed(2)}`);
  byId('now').textContent = moment(page.time);
  const filter = focused();
  const k = filter ? lastAt(filter.rows.t, page.time) : -1;
  if (k < 0) return byId('moment').replaceChildren('No estimate yet.');
  const r = filter.rows;
  const strong = (text) => element('b', {}, text);
  const said = [strong(filter.name), ` at x ${withUnit(r.x[k], 'm', 4)}, y ${withUnit(r.y[k], 'm', 4)}, yaw ${withUnit(wrapped(r.yaw[k]), 'rad', 3)}; `];
  if (known(r.ex[k])) {
    said.push('off by ', strong(withUnit(Math.hypot(r.ex[k], r.ey[k]), 'm', 3)), ` and ${withUnit(r.eyaw[k], 'rad', 2)}, NEES `, strong(digits(r.nees[k], 3)), '; ');
  }
  said.push(`claims σ ${withUnit(Math.sqrt(Math.max(r.xx[k], 0)), 'm', 2)}, ${withUnit(Math.sqrt(Math.max(r.yy[k], 0)), 'm', 2)}, ${withUnit(r.syaw[k], 'rad', 2)}`);
  if (known(r.used[k])) said.push(`; readings: ${r.used[k]} used, ${r.added[k]} new, ${r.left[k]} left out`);
  byId('moment').replaceChildren(...said, '.');
  const robot = known(r.ex[k]) ? `, ${digits(Math.hypot(r.ex[k], r.ey[k]), 3)} metres from the truth` : '';
  map.canvas.setAttribute('aria-label', `Map at ${page.time.toFixed(2)} seconds: ${filter.name} at ${digits(r.x[k], 3)}, ${digits(r.y[k], 3)} metres${robot}. Arrow keys move the map, plus and minus zoom, 0 shows all.`);
}

function makeLegend() {
  const mark = (...children) => drawn('svg', { viewBox: '0 0 26 16', 'aria-hidden': 'true' }, ...children);
  const colored = (node, css) => { node.style.cssText = css; return node; };
  const stroke = (color, more = '') => `fill: none; stroke: ${color}; stroke-width: 2; ${more}`;
  const path = (d, css) => colored(drawn('path', { d }), css);
  const size = map.magnified === 1 ? '' : `, drawn ${map.magnified} × too large`;
  const entries = shownFilters().map((filter) => [mark(path('M1 8H25', stroke(colorOf(filter)))), filter.name]);
  if (page.data.truth.pieces.length > 0) entries.push([mark(path('M1 8H25', stroke('var(--truth)', 'stroke-dasharray: 5 3'))), 'true path']);
  if (page.data.truth.id.length > 0) entries.push([mark(path('M9 8H17M13 4V12', stroke('var(--truth)'))), 'true landmark']);
  entries.push([mark(colored(drawn('ellipse', { cx: 13, cy: 8, rx: 11, ry: 5 }), `${stroke(colorOf(focused()))}`)), `95 % ellipse${size}`]);
  if (focused()?.readings.t.length > 0) {
    entries.push([mark(path('M9 4h8v8h-8z', stroke('var(--used)'))), 'reading used']);
    entries.push([mark(path('M9 4h8v8h-8z', stroke('var(--added)'))), 'began a landmark']);
    entries.push([mark(path('M9 4L17 12M9 12L17 4', stroke('var(--gated)'))), 'left out by the gate']);
  }
  byId('legend').replaceChildren(...entries.map(([sign, text]) => element('li', {}, sign, text)));
}

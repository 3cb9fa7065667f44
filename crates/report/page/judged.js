// The page of judged estimates.

let charts = [];

const part = (filter, which) => filter.report.consistency[which];
const range = (low, high) => (known(low) ? `[${digits(low)}, ${digits(high)}]` : '–');

/** The rows of the table: name, unit, and the cell of an estimate. */
const COLUMNS = [
  ['Position', 'RMSE, m', (filter) => digits(filter.report.position_rmse_m, 4)],
  ['aligned', (filter) => `by ${filter.report.alignment.method}, m`, (filter) => digits(filter.report.aligned_position_rmse_m, 4)],
  ['Orientation', 'RMSE, °', (filter) => digits(filter.report.orientation_rmse_deg, 4)],
  ['aligned', '°', (filter) => digits(filter.report.aligned_orientation_rmse_deg, 4)],
  ['NEES', 'pose', (filter) => nees(filter, 'pose')],
  ['', 'position', (filter) => nees(filter, 'position')],
  ['', 'orientation', (filter) => nees(filter, 'orientation')],
  ['σ is wrong by', 'mean, median', (filter) => (part(filter, 'pose') ? `${digits(part(filter, 'pose').sigma_factor)}, ${digits(part(filter, 'pose').sigma_factor_median)}` : '–')],
  ['in the band', '95 % is right', (filter) => percent(filter.report.nees_in_band_fraction)],
  ['independent', 'errors', (filter) => digits(part(filter, 'pose')?.effective_count)],
  ['covariance', '', (filter) => filter.report.verdict ?? 'not stated'],
];

function nees(filter, which) {
  const found = part(filter, which);
  if (!found) return '–';
  return [`${digits(found.nees_mean)} (${found.dof})`, element('br'), element('small', { class: 'quiet' }, range(found.interval_low, found.interval_high))];
}

function makeHeadline() {
  const { data } = page;
  byId('verdict').replaceChildren(...data.filters.flatMap((filter, k) => [k ? element('br') : '', element('b', {}, filter.name), ` – ${filter.sentence}.`]));
  const unit = (text) => (typeof text === 'function' ? text(data.filters[0]) : text);
  const head = element('tr', {}, ['estimate', 'drawn'].map((text) => element('th', { scope: 'col', class: text === 'drawn' ? 'screen' : null }, text)),
    COLUMNS.map(([name, text]) => element('th', { scope: 'col' }, name, element('small', {}, unit(text)))));
  const rows = data.filters.map((filter) => {
    const tick = element('input', { type: 'checkbox', checked: !page.hidden.has(filter.name), 'aria-label': `Draw ${filter.name}`, onchange: (event) => {
      if (event.target.checked) page.hidden.delete(filter.name);
      else page.hidden.add(filter.name);
      choose({ hidden: page.hidden });
    } });
    return element('tr', {}, element('th', { scope: 'row' }, swatch(colorOf(filter)), filter.name), element('td', { class: 'screen' }, tick),
      COLUMNS.map(([, , cell]) => element('td', {}, cell(filter))));
  });
  byId('table').replaceChildren(element('table', {}, element('thead', {}, head), element('tbody', {}, rows)));
}

const lines = (get) => shownFilters().map((filter) => ({ kind: 'line', t: filter.rows.t, y: get(filter.rows), color: colorOf(filter), name: filter.name }));

/** Bands of two standard deviations of those that state some. */
const bands = (get) => shownFilters().filter((filter) => get(filter.rows).some(known)).map((filter) => ({
  kind: 'area', t: filter.rows.t, low: filter.rows.t.map(() => 0), high: get(filter.rows).map((std) => (known(std) ? 2 * std : null)), color: colorOf(filter) }));

function makeCharts() {
  const parent = byId('time-charts');
  const caption = 'Shaded: up to twice the standard deviation that the estimate claims.';
  const first = page.data.filters[0];
  charts = [
    chart(parent, { title: 'Distance to the true position', unit: 'm', height: 220, caption, layers: () => [...bands((rows) => rows.position_std), ...lines((rows) => rows.position)],
      describe: () => shownFilters().map((filter) => `${filter.name}: RMSE ${digits(filter.report.position_rmse_m)} m.`).join(' ') }),
    chart(parent, { title: 'Angle to the true orientation', unit: '°', height: 200, caption, layers: () => [...bands((rows) => rows.orientation_std), ...lines((rows) => rows.orientation)],
      describe: () => shownFilters().map((filter) => `${filter.name}: RMSE ${digits(filter.report.orientation_rmse_deg)} degrees.`).join(' ') }),
  ];
  if (page.data.filters.some((filter) => filter.rows.nees.some(known))) {
    charts.push(chart(parent, { title: 'NEES of the pose', unit: '', height: 220, log: true, least: first.dof / 1000,
      caption: `Strip: where 95 % of the values lie if the covariance is right; dashed: ${first.dof}. Above, an estimate is overconfident.`,
      layers: () => [{ kind: 'strip', low: first.band[0], high: first.band[1] }, { kind: 'level', at: first.dof }, ...lines((rows) => rows.nees)],
      describe: () => shownFilters().map((filter) => `${filter.name}: mean ${digits(filter.report.nees_mean)}.`).join(' ') }));
  }
  makeCalibration(byId('calibration-charts'));
  charts.forEach((one) => one.draw());
}

/** The part of the errors that is found within a claimed quantile; the diagonal is right. */
function makeCalibration(parent) {
  const plot = element('div', { class: 'plot', role: 'img' });
  parent.append(element('div', { class: 'chart' }, element('h3', {}, 'Errors within a claimed quantile [%]'), plot,
    element('p', { class: 'caption' }, 'Across: what the covariance claims; up: what was found. Below the dashed line, an estimate is overconfident.')));
  const axes = element('div', { class: 'chart scroll' });
  parent.append(axes);
  const draw = () => {
    const width = page.isPrinting ? 420 : clamp(plot.clientWidth, 240, 460);
    const [left, height] = [44, 300];
    const x = (value) => left + value * (width - left - 14);
    const y = (value) => 10 + (1 - value) * (height - 44);
    const drawing = drawn('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    for (const value of [0, 0.25, 0.5, 0.75, 1]) {
      drawing.append(drawn('line', { class: 'tick', x1: x(value), x2: x(value), y1: y(0), y2: y(1) }), drawn('line', { class: 'tick', x1: x(0), x2: x(1), y1: y(value), y2: y(value) }),
        drawn('text', { x: x(value), y: height - 12, 'text-anchor': 'middle' }, label(100 * value)), drawn('text', { x: left - 6, y: y(value), dy: '.32em', 'text-anchor': 'end' }, label(100 * value)));
    }
    drawing.append(drawn('line', { class: 'level', x1: x(0), x2: x(1), y1: y(0), y2: y(1) }));
    for (const filter of shownFilters()) {
      const { calibration } = filter.report;
      if (!calibration) continue;
      const points = [[0, 0], ...calibration.claimed.map((claimed, k) => [claimed, calibration.found[k]])];
      const path = drawn('path', { d: points.map(([a, b], k) => `${k ? 'L' : 'M'}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join('') });
      path.style.cssText = `fill: none; stroke: ${colorOf(filter)}; stroke-width: 2`;
      drawing.append(path);
    }
    plot.replaceChildren(drawing);
    plot.setAttribute('aria-label', shownFilters().map((filter) => `${filter.name}: mean distance from the diagonal ${percent(filter.report.calibration?.error)}.`).join(' '));
    const owner = (filter) => (page.data.filters.length > 1 ? `${filter.name}: ` : '');
    const rows = shownFilters().flatMap((filter) => filter.report.axes.map((axis) => element('tr', {},
      element('th', { scope: 'row' }, swatch(colorOf(filter)), owner(filter), axis.axis.replace('_m', ' [m]').replace('_deg', ' [°]')),
      [axis.mean, axis.rms, axis.stated].map((value) => element('td', {}, digits(value))), element('td', {}, known(axis.stated) && axis.stated > 0 ? digits(axis.rms / axis.stated) : '–'))));
    const head = ['axis', 'mean', 'RMS', 'claimed σ', 'RMS / σ'].map((text) => element('th', { scope: 'col' }, text));
    axes.replaceChildren(element('h3', {}, 'Axis by axis'), element('table', {}, element('thead', {}, element('tr', {}, head)), element('tbody', {}, rows)));
  };
  charts.push({ draw, moveCursor() {} });
}

function makeRelative() {
  const rows = page.data.filters.flatMap((filter) => {
    const { relative_by_time: byTime, relative_by_distance: byDistance, motions } = filter.report;
    return [...byTime, ...byDistance].map((one) => {
      const motion = motions.find((found) => found.over_s === one.over_s);
      return element('tr', {}, element('th', { scope: 'row' }, swatch(colorOf(filter)), filter.name),
        [known(one.over_s) ? `${label(one.over_s)} s` : `${label(one.over_m, 3)} m`, whole(one.count), digits(one.position_rmse_m), digits(one.position_median_m), digits(one.orientation_rmse_deg),
          known(one.drift_percent) ? `${digits(one.drift_percent)} %` : '–', digits(motion?.at_least?.nees_mean), digits(motion?.if_added?.nees_mean)].map((text) => element('td', {}, text)));
    });
  });
  const head = [['estimate', ''], ['over', ''], ['motions', ''], ['position', 'RMSE, m'], ['', 'median, m'], ['orientation', 'RMSE, °'], ['of the way', ''], ['NEES', 'at least'], ['', 'if errors add up']];
  byId('relative-table').replaceChildren(element('table', {}, element('thead', {}, element('tr', {}, head.map(([name, unit]) => element('th', { scope: 'col' }, name, element('small', {}, unit))))), element('tbody', {}, rows)));
}

function makeWarnings() {
  const found = page.data.filters.flatMap((filter) => {
    const dropped = Object.entries(filter.report.dropped).map(([reason, count]) => `left out: ${words(reason)} ${whole(count)}`);
    return [...filter.report.warnings, ...dropped].map((text) => element('li', {}, element('b', {}, filter.name), `: ${text}`));
  });
  byId('warnings-list').replaceChildren(found.length > 0 ? element('ul', {}, found) : element('p', { class: 'quiet' }, 'Nothing contradicts itself.'));
}

page.listeners.push((what) => {
  if (what.has('span') || what.has('hidden')) charts.forEach((one) => one.draw());
  if (what.has('time')) charts.forEach((one) => one.moveCursor());
});

page.data = JSON.parse(byId('data').textContent);
page.span = [0, Math.max(page.data.duration_s, 1e-3)];
page.time = page.data.duration_s;
document.title = `${page.data.filters.map((filter) => filter.name).join(', ')} · lienav judge`;
byId('title').textContent = page.data.filters.map((filter) => filter.name).join(', ');
byId('subtitle').textContent = `judged by ${page.data.source}`;
makeHeadline();
makeTheme(() => charts.forEach((one) => one.draw()));
makeCharts();
makeRelative();
makeWarnings();
byId('notes').append(element('ul', {}, [
  'NEES is the squared error in units of the covariance that an estimate claims; the number in brackets is right. Under it, the interval that holds its mean over an endless run with 95 %: successive errors are not independent, and the table says how many of them are.',
  'The NEES of motions is a bound: how the errors of two poses are correlated is not stated by any estimate. "At least" holds whatever it is.',
  'Drag over a chart to see a part of the time, double-click for all; by keyboard, arrow keys, + and −, and 0.',
  `Made by lienav ${page.data.version}. This file needs no network and sends nothing. All numbers are in report.json and errors.csv beside it.`,
].map((note) => element('li', {}, note))));
onOtherWidth(() => charts.forEach((one) => one.draw()));

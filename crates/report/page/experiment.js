// The page of a Monte Carlo experiment.

let charts = [];

const numberOf = (filter, key) => filter.numbers.find((number) => number.key === key) ?? { value: null, interval: null };

/** The columns of the table, named as on the console: name, unit, key of the report, and which is best. */
const NUMBERS = [
  ['position mean', 'm', 'position_error_mean_m', 'less'],
  ['position RMS', 'm', 'position_rmse_m', 'less'],
  ['yaw mean', 'rad', 'yaw_error_mean_rad', 'less'],
  ['final position RMS', 'm', 'final_position_rmse_m', 'less'],
  ['map RMS', 'm', 'landmark_rmse_m', 'less'],
  ['NEES', '3 is right', 'nees_mean', 'three'],
  ['NIS/dof', '1 is right', 'nis_per_dof', null],
];

function makeHeadline() {
  const { data } = page;
  const told = data.filters.map((filter) => {
    const nees = numberOf(filter, 'nees_mean').value;
    const factor = Math.sqrt(nees / 3);
    const word = !known(nees) ? 'without NEES' : factor > 1.3 ? 'overconfident' : factor < 0.7 ? 'too cautious' : 'consistent';
    return [element('b', {}, filter.name), ` is off by ${withUnit(numberOf(filter, 'position_rmse_m').value, 'm')} and ${word} (NEES ${digits(nees)})`];
  });
  const joined = told.flatMap((one, k) => (k ? ['; ', ...one] : one));
  byId('verdict').replaceChildren(`${whole(data.runs)} runs of ${data.scenario}: `, ...joined, '.');
  const best = NUMBERS.map(([, , key, better]) => {
    const values = data.filters.map((filter) => numberOf(filter, key).value).filter(known);
    if (!better || values.length < 2) return null;
    const cost = better === 'three' ? (value) => Math.abs(Math.log(value / 3)) : (value) => value;
    return values.reduce((a, b) => (cost(b) < cost(a) ? b : a));
  });
  const head = element('tr', {}, ['filter', 'drawn'].map((text) => element('th', { scope: 'col', class: text === 'drawn' ? 'screen' : null }, text)),
    NUMBERS.map(([name, unit]) => element('th', { scope: 'col' }, name, element('small', {}, unit))),
    [['in the band', '95 % is right'], ['Left out', 'in all runs'], ['A step', 'µs']].map(([name, unit]) => element('th', { scope: 'col' }, name, element('small', {}, unit))));
  const rows = data.filters.map((filter) => {
    const tick = element('input', { type: 'checkbox', checked: !page.hidden.has(filter.name), 'aria-label': `Draw ${filter.name}`, onchange: (event) => {
      if (event.target.checked) page.hidden.delete(filter.name);
      else page.hidden.add(filter.name);
      choose({ hidden: page.hidden });
    } });
    const cell = ([, , key], column) => {
      const { value, interval } = numberOf(filter, key);
      const range = interval ? element('small', { class: 'quiet' }, ` [${digits(interval[0])}, ${digits(interval[1])}]`) : null;
      return element('td', { class: best[column] !== null && value === best[column] ? 'best' : null }, digits(value), element('br'), range);
    };
    return element('tr', {}, element('th', { scope: 'row' }, swatch(colorOf(filter)), filter.name), element('td', { class: 'screen' }, tick), NUMBERS.map(cell),
      element('td', {}, percent(filter.nees_in_band_fraction)), element('td', {}, whole(filter.dropped)), element('td', {}, digits(filter.step_us_mean)));
  });
  byId('table').replaceChildren(element('table', {}, element('thead', {}, head), element('tbody', {}, rows)));
  makePaired();
}

/** The columns of the differences, as on the console: name, unit, key, and whether the ratio is shown. */
const PAIRED = [
  ['position mean', 'm', 'position_error_mean_m', 'difference'],
  ['yaw mean', 'rad', 'yaw_error_mean_rad', 'difference'],
  ['final position RMS', 'm', 'final_position_rmse_m', 'difference'],
  ['NEES', '', 'nees_mean', 'difference'],
  ['final RMS', 'ratio', 'final_position_rmse_m', 'ratio'],
];

/** What is left of each filter less the first, over the same runs; nothing of a single filter. */
function makePaired() {
  const [first, ...others] = page.data.filters;
  const isShown = others.some((filter) => PAIRED.some(([, , key, what]) => numberOf(filter, key)[what]));
  byId('paired').hidden = byId('paired-title').hidden = !isShown;
  if (!isShown) return;
  byId('paired-title').textContent = `Less the same of ${first.name}, in pairs of runs; in bold where the interval of 95 % leaves out no difference.`;
  const head = element('tr', {}, element('th', { scope: 'col' }, 'filter'),
    PAIRED.map(([name, unit]) => element('th', { scope: 'col' }, name, element('small', {}, unit))));
  const rows = others.map((filter) => element('tr', {}, element('th', { scope: 'row' }, swatch(colorOf(filter)), filter.name),
    PAIRED.map(([, , key, what]) => {
      const found = numberOf(filter, key)[what];
      if (!found) return element('td', {}, '–');
      const [value, low, high] = found;
      const none = what === 'ratio' ? 1 : 0;
      const sign = what === 'difference' && value > 0 ? '+' : '';
      return element('td', { class: low > none || high < none ? 'best' : null }, `${sign}${digits(value)}`, element('br'),
        element('small', { class: 'quiet' }, ` [${digits(low)}, ${digits(high)}]`));
    })));
  byId('paired').replaceChildren(element('table', {}, element('thead', {}, head), element('tbody', {}, rows)));
}

const lines = (get, name) => shownFilters().map((filter) => ({ kind: 'line', t: filter.rows.t, y: get(filter.rows), color: colorOf(filter), name: name ?? filter.name }));

function makeCharts() {
  const growth = byId('growth-charts');
  const describe = (key) => () => shownFilters().map((filter) => `${filter.name}: ${digits(numberOf(filter, key).value)}.`).join(' ');
  charts = [
    chart(growth, { title: 'Position error, root mean square over the runs', unit: 'm', height: 210, describe: describe('position_rmse_m'), layers: () => lines((rows) => rows.position_rms) }),
    chart(growth, { title: 'Yaw error, root mean square over the runs', unit: 'rad', height: 180, describe: describe('yaw_rmse_rad'), layers: () => lines((rows) => rows.yaw_rms) }),
    chart(growth, { title: 'NEES of the pose, mean over the runs', unit: '', height: 220, log: true, describe: describe('nees_mean'),
      caption: 'Shaded: where 95 % of the means lie if the covariances are right; dashed: 3. Above, a filter is overconfident.',
      layers: () => {
        const [first] = page.data.filters;
        return [{ kind: 'area', t: first.rows.t, low: first.rows.low, high: first.rows.high, color: 'var(--good)' }, { kind: 'level', at: 3 }, ...lines((rows) => rows.nees)];
      } }),
  ];
  makeRuns(byId('runs-charts'), 'Position RMSE of a run [m]', (runs) => runs.position_rmse, null);
  makeRuns(byId('runs-charts'), 'Mean NEES of a run', (runs) => runs.nees, 3);
  charts.forEach((one) => one.draw());
}

/** Values at which a logarithmic axis is labelled. */
function oneTwoFive(low, high) {
  const decades = Math.log10(high / low);
  const factors = decades < 2.2 ? [1, 2, 5] : [1];
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) found.push(...factors.map((factor) => factor * 10 ** power));
  return found.filter((value) => value >= low && value <= high);
}

/** Every run as a point on a logarithmic axis, a row for each filter; the middle half is marked. */
function makeRuns(parent, title, get, right) {
  const plot = element('div', { class: 'plot', role: 'img' });
  parent.append(element('div', { class: 'chart' }, element('h3', {}, title), plot, element('p', { class: 'caption' }, 'A point is a run; the bar is the middle half of them, its line the median.')));
  const draw = () => {
    const filters = shownFilters();
    const width = page.isPrinting ? 560 : Math.max(plot.clientWidth, 240);
    const [left, row] = [Math.min(130, 0.3 * width), 34];
    const height = 30 + row * filters.length;
    const all = filters.flatMap((filter) => get(filter.runs)).filter((value) => known(value) && value > 0);
    const [low, high] = [Math.min(...all, right ?? Infinity) / 1.2, Math.max(...all, right ?? 0) * 1.2];
    const at = (value) => left + ((Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (width - left - 12);
    const drawing = drawn('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    if (all.length > 0) {
      for (const value of oneTwoFive(low, high)) {
        drawing.append(drawn('line', { class: 'tick', x1: at(value), x2: at(value), y1: 0, y2: height - 22 }), drawn('text', { x: at(value), y: height - 7, 'text-anchor': 'middle' }, label(value, 3)));
      }
    }
    if (right) drawing.append(drawn('line', { class: 'level', x1: at(right), x2: at(right), y1: 0, y2: height - 22 }));
    filters.forEach((filter, k) => {
      const y = row * (k + 0.5);
      const values = get(filter.runs).filter((value) => known(value) && value > 0);
      const sorted = [...values].sort((a, b) => a - b);
      const quantile = (part) => sorted[Math.min(Math.floor(part * sorted.length), sorted.length - 1)];
      drawing.append(drawn('text', { x: left - 10, y, dy: '.32em', 'text-anchor': 'end' }, filter.name));
      if (sorted.length === 0) return;
      const bar = drawn('rect', { x: at(quantile(0.25)), width: Math.max(at(quantile(0.75)) - at(quantile(0.25)), 1), y: y - 9, height: 18, rx: 3 });
      bar.style.cssText = `fill: ${colorOf(filter)}; opacity: .25`;
      const median = drawn('line', { x1: at(quantile(0.5)), x2: at(quantile(0.5)), y1: y - 11, y2: y + 11 });
      median.style.cssText = `stroke: ${colorOf(filter)}; stroke-width: 2.5`;
      drawing.append(bar, median);
      values.forEach((value, run) => {
        const point = drawn('circle', { cx: at(value).toFixed(1), cy: (y + ((run * 7) % 11) - 5).toFixed(1), r: 2.2 }, drawn('title', {}, `seed ${filter.runs.seed[run]}: ${digits(value)}`));
        point.style.cssText = `fill: ${colorOf(filter)}; opacity: .7`;
        drawing.append(point);
      });
    });
    plot.replaceChildren(drawing);
    plot.setAttribute('aria-label', `${title}. ${filters.map((filter) => `${filter.name}: ${get(filter.runs).filter(known).length} runs.`).join(' ')}`);
  };
  charts.push({ draw, moveCursor() {} });
}

page.listeners.push((what) => {
  if (what.has('span') || what.has('hidden')) charts.forEach((one) => one.draw());
  if (what.has('time')) charts.forEach((one) => one.moveCursor());
});

page.data = JSON.parse(byId('data').textContent);
page.span = [0, Math.max(page.data.duration_s, 1e-3)];
page.time = page.data.duration_s;
document.title = `${page.data.scenario} · lienav Monte Carlo`;
byId('title').textContent = page.data.scenario;
byId('subtitle').textContent = `${whole(page.data.runs)} runs of ${whole(page.data.steps)} steps, ${lasting(page.data.duration_s)} each; seed ${page.data.seed}`;
makeHeadline();
makeTheme(() => charts.forEach((one) => one.draw()));
makeCharts();
byId('notes').append(element('ul', {}, [
  'Every filter gets the same runs. Under a number, in brackets, the interval that holds it with 95 % (percentile bootstrap over the runs).',
  'Lengths are in metres, angles in radians (REP 103). NEES is the squared error of (x, y, yaw) in units of the covariance that the filter claims.',
  'Drag over a chart to see a part of the time, double-click for all; by keyboard, arrow keys, + and −, and 0.',
  `Made by lienav ${page.data.version}. This file needs no network and sends nothing. All numbers are in report.json, steps.csv and runs.csv beside it.`,
].map((note) => element('li', {}, note))));
onOtherWidth(() => charts.forEach((one) => one.draw()));

// Does the covariance say so: errors in their 3σ bands, and NEES in its band.

const within = (values, limit) => values.map((value) => (known(value) ? limit * value : null));
const rootOf = (variances) => variances.map((variance) => (known(variance) && variance >= 0 ? Math.sqrt(variance) : null));

/** Charts of this section; made once for the data. */
function consistencyCharts(parent) {
  const hasTruth = page.data.filters.some((filter) => filter.rows.ex.some(known));
  if (!hasTruth) {
    parent.append(element('p', {}, 'No true pose is known: there are no errors to show. The standard deviations that were claimed:'));
    return [spread(parent, 'σ of x', 'm', (rows) => rootOf(rows.xx)), spread(parent, 'σ of y', 'm', (rows) => rootOf(rows.yy)), spread(parent, 'σ of yaw', 'rad', (rows) => rows.syaw)];
  }
  return [
    distanceChart(parent),
    errorChart(parent, 'Error of x', 'm', (rows) => rows.ex, (rows) => rootOf(rows.xx)),
    errorChart(parent, 'Error of y', 'm', (rows) => rows.ey, (rows) => rootOf(rows.yy)),
    errorChart(parent, 'Error of yaw', 'rad', (rows) => rows.eyaw, (rows) => rows.syaw),
    neesChart(parent),
  ];
}

function spread(parent, title, unit, get) {
  return chart(parent, { title, unit, height: 150,
    layers: () => shownFilters().map((filter) => ({ kind: 'line', t: filter.rows.t, y: get(filter.rows), color: colorOf(filter), name: filter.name })) });
}

function distanceChart(parent) {
  const far = ({ ex, ey }) => ex.map((x, k) => (known(x) ? Math.hypot(x, ey[k]) : null));
  return chart(parent, { title: 'Distance to the true position', unit: 'm', height: 190,
    describe: () => shownFilters().map((filter) => `${filter.name}: root mean square ${withUnit(filter.report.position_rmse_m, 'm')}, greatest ${withUnit(filter.report.position_max_m, 'm')}.`).join(' '),
    caption: 'In the map frame, without alignment. Drag over a chart to see a part of the run, double-click for all of it.',
    layers: () => shownFilters().map((filter) => ({ kind: 'line', t: filter.rows.t, y: far(filter.rows), color: colorOf(filter), name: filter.name })) });
}

function errorChart(parent, title, unit, error, sigma) {
  return chart(parent, { title, unit, height: 170,
    describe: () => {
      const { name, rows } = focused();
      const [errors, sigmas] = [error(rows), sigma(rows)];
      const judged = errors.map((_, k) => k).filter((k) => known(errors[k]) && known(sigmas[k]));
      const outside = judged.filter((k) => Math.abs(errors[k]) > 3 * sigmas[k]).length;
      return `${name}: ${percent(outside / Math.max(judged.length, 1), 2)} of the points shown are outside of three standard deviations.`;
    },
    caption: 'Shaded: ±3σ as claimed by the filter in focus; a Gaussian error is outside of it at 0.3 % of the steps.',
    layers: () => {
      const filter = focused();
      const three = sigma(filter.rows);
      const own = { kind: 'line', t: filter.rows.t, y: error(filter.rows), color: colorOf(filter), name: filter.name };
      const others = shownFilters().filter((other) => other !== filter)
        .map((other) => ({ kind: 'line', t: other.rows.t, y: error(other.rows), color: colorOf(other), name: other.name, thickness: 0.8 }));
      return [{ kind: 'area', t: filter.rows.t, low: within(three, -3), high: within(three, 3), color: colorOf(filter) }, ...others, own];
    } });
}

function neesChart(parent) {
  const [low, high] = page.data.bands[3] ?? [0.2158, 9.348];
  return chart(parent, { title: 'NEES of the pose', unit: '', height: 200, log: true,
    describe: () => shownFilters().map((filter) => `${filter.name}: mean ${digits(filter.report.nees_mean)}, ${percent(filter.report.nees_in_band_fraction)} in the band.`).join(' '),
    caption: `Shaded: ${label(low, 3)} to ${label(high, 3)}, in which 95 % of the steps of a consistent filter lie; dashed: their mean, 3. Above, the filter is overconfident. Successive steps share most of their error: one long excursion is one event.`,
    layers: () => [{ kind: 'strip', low, high }, { kind: 'level', at: 3 },
      ...shownFilters().map((filter) => ({ kind: 'line', t: filter.rows.t, y: filter.rows.nees, color: colorOf(filter), name: filter.name, thickness: 1 }))] });
}

/** A choice of the span of time, for those who cannot drag. */
function makeSpan() {
  const around = (width) => () => (width ? chooseSpan(page.time - width / 2, page.time + width / 2) : chooseSpan(0, page.data.duration_s));
  const widths = [600, 60, 10].filter((width) => width < 0.8 * page.data.duration_s);
  byId('span').replaceChildren(element('span', { class: 'quiet' }, 'Time shown:'),
    element('button', { type: 'button', onclick: around(0) }, 'the whole run'),
    ...widths.map((width) => element('button', { type: 'button', onclick: around(width) }, `${lasting(width)} around the moment`)));
}

// Why: what was read and left out, whether the readings fit, what was calibrated, and what the evaluator warns of.

const REASON_COLORS = ['--gated', '--c4', '--c3', '--c5', '--c6', '--c7', '--c1'];

function makeCauses(parent) {
  const charts = [readingsChart(parent), leftOutChart(parent)];
  if (focused()?.rows.nis.some(known)) charts.push(nisChart(parent));
  for (const name of parameters()) charts.push(calibrationChart(parent, name));
  return charts;
}

const parameters = () => [...new Set(page.data.filters.flatMap((filter) => Object.keys(filter.calibration)))];

function readingsChart(parent) {
  return chart(parent, { title: 'Readings used', unit: `in ${label(focused()?.bins.width_s, 3)} s`, height: 150,
    describe: () => `${whole(focused().report.accepted)} readings were used and ${whole(focused().report.added)} began a landmark.`,
    layers: () => [{ kind: 'bars', width: focused().bins.width_s, stacks: [
      { name: 'used', color: 'var(--used)', y: focused().bins.used }, { name: 'began a landmark', color: 'var(--added)', y: focused().bins.added }] }] });
}

function leftOutChart(parent) {
  const stacks = () => Object.entries(focused().bins.left_out)
    .sort(([, a], [, b]) => total(b) - total(a))
    .map(([reason, y], k) => ({ name: words(reason), color: `var(${REASON_COLORS[Math.min(k, REASON_COLORS.length - 1)]})`, y }));
  return chart(parent, { title: 'Left out, and why', unit: `in ${label(focused()?.bins.width_s, 3)} s`, height: 150,
    describe: () => stacks().map((stack) => `${stack.name}: ${total(stack.y)}.`).join(' ') || 'Nothing was left out.',
    caption: 'Messages and readings, all of them, by the time of the step that counted them.',
    layers: () => [{ kind: 'bars', width: focused().bins.width_s, stacks: stacks() }] });
}

const total = (counts) => counts.reduce((sum, count) => sum + count, 0);

function nisChart(parent) {
  const byDof = ({ nis, dof }) => nis.map((value, k) => (known(value) && dof[k] > 0 ? value / dof[k] : null));
  const band = ({ dof }, end) => dof.map((count) => (count > 0 && page.data.bands[count] ? page.data.bands[count][end] / count : null));
  return chart(parent, { title: 'NIS for each number read', unit: '', height: 170, log: true,
    describe: () => `Mean NIS ${digits(focused().report.nis_mean)}, expected ${digits(focused().report.nis_dof_mean)}.`,
    caption: 'Whether readings fit the prediction: 1 is right on average; shaded, where 95 % of the steps should lie with as many readings as there were.',
    layers: () => {
      const filter = focused();
      return [{ kind: 'area', t: filter.rows.t, low: band(filter.rows, 0), high: band(filter.rows, 1), color: 'var(--good)' }, { kind: 'level', at: 1 },
        { kind: 'line', t: filter.rows.t, y: byDof(filter.rows), color: colorOf(filter), name: filter.name, thickness: 1 }];
    } });
}

function calibrationChart(parent, name) {
  return chart(parent, { title: `Learned: ${words(name)}`, unit: '', height: 150,
    describe: () => {
      const learned = focused().report.calibration[name];
      return learned ? `At the end ${digits(learned.value, 4)} plus or minus ${digits(learned.sigma, 2)}.` : '';
    },
    caption: 'Shaded: ±3σ. Units as in docs/parameters.md: scales are factors, offsets in m and rad.',
    layers: () => {
      const learned = focused().calibration[name];
      const others = shownFilters().filter((other) => other !== focused() && other.calibration[name])
        .map((other) => ({ kind: 'line', ...over(other.calibration[name]), color: colorOf(other), name: other.name, thickness: 0.9 }));
      if (!learned) return others;
      const { t, value, sigma } = learned;
      const away = (times) => value.map((middle, k) => middle + times * sigma[k]);
      return [{ kind: 'area', t, low: away(-3), high: away(3), color: colorOf(focused()) }, ...others,
        { kind: 'line', ...over(learned), color: colorOf(focused()), name: focused().name }];
    } });
}

const over = ({ t, value }) => ({ t, y: value });

/** Tables beside the charts, and what the evaluator warns of. */
function makeCauseTables() {
  const { report } = focused();
  byId('warnings').replaceChildren(...page.data.filters.flatMap((filter) => filter.report.warnings.map((text) => [filter.name, text]))
    .filter(([, text], k, all) => all.findIndex(([, other]) => other === text) === k)
    .map(([name, text]) => element('p', { class: 'warning' }, element('b', {}, `${name}: `), text)));
  const table = (title, head, rows) => element('div', {}, element('h3', {}, title),
    element('table', {}, element('thead', {}, element('tr', {}, head.map((text) => element('th', { scope: 'col' }, text)))),
      element('tbody', {}, rows.map(([name, ...cells]) => element('tr', {}, element('th', { scope: 'row' }, name), cells.map((cell) => element('td', {}, cell)))))));
  const tables = [];
  const dropped = Object.entries(report.dropped).sort(([, a], [, b]) => b - a);
  if (dropped.length > 0) tables.push(table(`Left out by ${report.filter}`, ['reason', 'how often'], dropped.map(([reason, count]) => [words(reason), whole(count)])));
  else tables.push(element('div', {}, element('h3', {}, `Left out by ${report.filter}`), element('p', { class: 'quiet' }, 'Nothing.')));
  const learned = Object.entries(report.calibration);
  if (learned.length > 0) tables.push(table('Calibration at the end', ['parameter', 'value', 'σ'], learned.map(([name, { value, sigma }]) => [words(name), digits(value, 4), digits(sigma, 2)])));
  if (report.associations) {
    const a = report.associations;
    tables.push(table('Associations', ['', ''], [['precision of pairs', digits(a.pair_precision, 4)], ['recall of pairs', digits(a.pair_recall, 4)], ['wrong matches', `${whole(a.wrong)} of ${whole(a.matched)}`],
      ['readings used', `${whole(a.used)} of ${whole(a.readings)}`], ['landmarks for true ones', `${whole(a.map_landmarks)} for ${whole(a.true_landmarks)}`], ['duplicates', whole(a.duplicates)], ['recognized on return', `${whole(a.returns_found)} of ${whole(a.returns)}`]]));
  }
  if (report.fixes) {
    const f = report.fixes;
    tables.push(table('Position fixes, after the best rigid motion', ['', ''], [['median', withUnit(f.median_m, 'm')], ['RMS of the nearest 90 %', withUnit(f.nearest_90_rms_m, 'm')], ['fixes', whole(f.count)]]));
  }
  if (report.gate_openings > 0) tables.push(table('Gate', ['', ''], [['opened because it had starved the filter', whole(report.gate_openings)]]));
  byId('causes-tables').replaceChildren(...tables);
}

// How good: a sentence, the numbers that matter most, and the numbers of all filters side by side.

/** Of three degrees of freedom. */
const MEDIAN_OF_CHI_SQUARED = 2.366;

/** What the NEES says, as a sentence, and whether it is right. */
function judgement(report) {
  const { nees_mean: nees, nees_median: median, nees_worst: worst, nees_in_band_fraction: inside } = report;
  if (!known(nees)) return { text: 'No true pose is known, so its covariance cannot be judged.', kind: '' };
  // The median, since a few steps may spoil the mean.
  const factor = Math.sqrt(median / MEDIAN_OF_CHI_SQUARED);
  const spoiled = worst && Math.sqrt(nees / 3) > 1.3 * Math.max(factor, 1) ? `; a few steps spoil the mean, which is ${digits(nees, 3)}: the worst has ${digits(worst[1], 3)}, ${digits(worst[0], 4)} s after the first` : '';
  const said = `its median NEES is ${digits(median, 3)} where ${digits(MEDIAN_OF_CHI_SQUARED, 3)} is right, and ${percent(inside, 2)} of the steps lie in the 95 % band${spoiled}`;
  if (factor > 1.3) return { text: `It is overconfident: ${said}; its standard deviations would have to be ${digits(factor, 2)} times as large.`, kind: 'bad', word: 'overconfident' };
  if (factor < 0.7) return { text: `It is too cautious: ${said}; its standard deviations could be ${digits(factor, 2)} times as large.`, kind: 'bad', word: 'too cautious' };
  if (inside < 0.85 || spoiled) return { text: `Its covariance is right at most times, not at all of them: ${said}.`, kind: '', word: 'right at most times' };
  return { text: `Its covariance says so truthfully: ${said}.`, kind: 'good', word: 'consistent' };
}

/** How many matches are wrong: more than one in a hundred is a fault. */
function ofAssociations({ wrong, matched, duplicates, true_landmarks: there }, tile) {
  const part = matched > 0 ? wrong / matched : null;
  return tile('Wrong matches', percent(part, 2), `${whole(wrong)} of ${whole(matched)}; ${whole(duplicates)} duplicates of ${whole(there)} landmarks`, part > 0.01 ? 'bad' : '');
}

function makeHeadline() {
  const filter = focused();
  if (!filter) {
    byId('verdict').textContent = 'Nothing has been heard yet.';
    byId('tiles').replaceChildren();
    byId('table').replaceChildren();
    return;
  }
  const { report } = filter;
  const judged = judgement(report);
  const off = known(report.position_rmse_m)
    ? [' was off by ', element('b', {}, withUnit(report.position_rmse_m, 'm', 3)), ` (root mean square) on a way of ${withUnit(page.data.distance_m, 'm', 3)} in ${lasting(page.data.duration_s)}. `]
    : [` went ${withUnit(page.data.distance_m, 'm', 3)} in ${lasting(page.data.duration_s)}. `];
  byId('verdict').replaceChildren(swatch(colorOf(filter)), element('b', {}, filter.name), ...off, judged.text);
  const left = Object.values(report.dropped).reduce((sum, count) => sum + count, 0);
  const tile = (name, value, more, kind = '') => element('div', { class: kind },
    element('dt', {}, name), element('dd', {}, element('b', {}, value), element('small', {}, more)));
  // What is not known has no tile.
  const ifKnown = (value, ...of) => (known(value) ? [tile(...of)] : []);
  byId('tiles').replaceChildren(
    ...ifKnown(report.position_rmse_m, 'Position RMSE', withUnit(report.position_rmse_m, 'm'), `${withUnit(report.aligned_position_rmse_m, 'm')} aligned, greatest ${withUnit(report.position_max_m, 'm')}`),
    ...ifKnown(report.yaw_rmse_rad, 'Yaw RMSE', withUnit(report.yaw_rmse_rad, 'rad'), known(report.yaw_rmse_rad) ? `${digits((report.yaw_rmse_rad * 180) / Math.PI, 3)}°` : ''),
    ...ifKnown(report.nees_median, 'NEES, median', digits(report.nees_median), `${judged.word ? `${judged.word}; ` : ''}2.37 is right; mean ${digits(report.nees_mean)}`, judged.kind),
    known(report.landmark_rmse_m)
      ? tile('Landmark RMSE', withUnit(report.landmark_rmse_m, 'm'), `${whole(report.landmarks)} in the map, ${whole(report.landmarks_with_truth)} with truth`)
      : tile('Landmarks', whole(report.landmarks), 'in the map, none with truth'),
    tile('Left out', whole(left), known(report.accepted) ? `of ${whole(report.accepted + report.added + left)} readings and messages` : 'messages and readings'),
    tile('A step, median', report.step_us ? withUnit(report.step_us.p50, 'µs') : '–', report.step_us ? `99 % within ${withUnit(report.step_us.p99, 'µs')}` : 'not measured'),
    ...(report.associations ? [ofAssociations(report.associations, tile)] : []),
    ...(report.fixes ? [tile('GPS fixes, median', withUnit(report.fixes.median_m, 'm'), `nearest 90 % ${withUnit(report.fixes.nearest_90_rms_m, 'm')}; ${whole(report.fixes.count)} fixes, aligned`)] : []),
  );
  makeTable();
}

/** The columns: name, unit, number, digits, and whether less is better. */
const COLUMNS = [
  ['Position', 'RMSE, m', (r) => r.position_rmse_m, (v) => digits(v), 'less'],
  ['aligned', 'RMSE, m', (r) => r.aligned_position_rmse_m, (v) => digits(v), 'less'],
  ['greatest', 'm', (r) => r.position_max_m, (v) => digits(v), 'less'],
  ['Yaw', 'RMSE, rad', (r) => r.yaw_rmse_rad, (v) => digits(v), 'less'],
  ['Landmarks', 'RMSE, m', (r) => r.landmark_rmse_m, (v) => digits(v), 'less'],
  ['NEES', '3 is right', (r) => r.nees_mean, (v) => digits(v), 'three'],
  ['median', '2.37 is right', (r) => r.nees_median, (v) => digits(v), null],
  ['in the band', '95 % is right', (r) => r.nees_in_band_fraction, (v) => percent(v), null],
  ['NIS', 'expected', (r) => r.nis_mean, (v, r) => `${digits(v)} (${digits(r.nis_dof_mean)})`, null],
  ['Readings', 'used / new / left out', (r) => r.accepted, (v, r) => `${whole(v)} / ${whole(r.added)} / ${whole(r.rejected)}`, null],
  ['A step', 'median, µs', (r) => r.step_us?.p50, (v) => digits(v), null],
];

function makeTable() {
  const { filters } = page.data;
  const columns = COLUMNS.filter(([, , get]) => filters.some((filter) => known(get(filter.report))));
  const best = columns.map(([, , get, , better]) => {
    const values = filters.map((filter) => get(filter.report)).filter(known);
    if (!better || values.length < 2) return null;
    const cost = better === 'three' ? (value) => Math.abs(Math.log(value / 3)) : (value) => value;
    return values.reduce((a, b) => (cost(b) < cost(a) ? b : a));
  });
  const several = filters.length > 1;
  const head = element('tr', {}, element('th', { scope: 'col' }, several ? 'in focus' : 'filter'), several ? element('th', { scope: 'col', class: 'screen' }, 'drawn') : null,
    columns.map(([name, unit]) => element('th', { scope: 'col' }, name, element('small', {}, unit))));
  const rows = filters.map((filter, index) => {
    const radio = element('input', { type: 'radio', name: 'focus', checked: index === page.focus, 'aria-label': `Focus on ${filter.name}`,
      onchange: () => choose({ focus: index }) });
    const tick = element('input', { type: 'checkbox', checked: !page.hidden.has(filter.name), 'aria-label': `Draw ${filter.name}`,
      onchange: (event) => {
        if (event.target.checked) page.hidden.delete(filter.name);
        else page.hidden.add(filter.name);
        choose({ hidden: page.hidden });
      } });
    const name = several ? element('label', {}, radio, swatch(colorOf(filter)), filter.name) : [swatch(colorOf(filter)), filter.name];
    return element('tr', {}, element('th', { scope: 'row' }, name), several ? element('td', { class: 'screen' }, tick) : null,
      columns.map(([, , get, text], column) => {
        const value = get(filter.report);
        return element('td', { class: best[column] !== null && value === best[column] ? 'best' : null }, known(value) ? text(value, filter.report) : '–');
      }));
  });
  const chosen = document.activeElement?.getAttribute?.('aria-label');
  byId('table').replaceChildren(element('table', {}, element('thead', {}, head), element('tbody', {}, rows)));
  if (chosen) byId('table').querySelector(`[aria-label="${CSS.escape(chosen)}"]`)?.focus();
}

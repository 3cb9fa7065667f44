// The page as a whole: reads the data, makes the parts, and keeps them up to date.

let charts = [];

/** Makes all parts of the page from new data; what the reader had chosen stays where it can. */
function show(data) {
  const wasAtEnd = page.time >= page.data.duration_s;
  const wasWhole = page.span[0] <= 0 && page.span[1] >= page.data.duration_s;
  const focusName = focused()?.name;
  page.data = data;
  page.focus = Math.max(data.filters.findIndex((filter) => filter.name === focusName), 0);
  page.time = wasAtEnd ? data.duration_s : Math.min(page.time, data.duration_s);
  if (wasWhole || page.span[1] > data.duration_s) page.span = [0, Math.max(data.duration_s, 1e-3)];
  document.title = `${data.source || 'nothing'} · lienav report`;
  byId('title').textContent = data.source || 'No run';
  const steps = data.filters.map((filter) => filter.steps);
  byId('subtitle').textContent = data.filters.length === 0 ? '' :
    `${whole(Math.max(...steps))} steps in ${lasting(data.duration_s)}, ${data.filters.length === 1 ? `filter ${data.filters[0].name}` : `${data.filters.length} filters`}; times count from stamp ${data.start} s`;
  makeHeadline();
  const isEmpty = data.filters.length === 0;
  for (const id of ['map', 'consistency', 'causes']) byId(id).hidden = isEmpty;
  if (isEmpty) return;
  makeSpan();
  makeCharts();
  makeNotes();
  if (!map.canvas) makeMap();
  makeLegend();
  tellMoment();
  drawMap();
  if (map.fitted) fitMap();
}

function makeCharts() {
  const parents = [byId('consistency-charts'), byId('causes-charts')];
  parents.forEach((parent) => parent.replaceChildren());
  charts = [...consistencyCharts(parents[0]), ...makeCauses(parents[1])];
  parents[1].classList.add('two');
  makeCauseTables();
  charts.forEach((one) => one.draw());
}

/** What the page does not show, and what its words mean. */
function makeNotes() {
  const notes = [
    'Lengths are in metres, angles in radians, counterclockwise, x forward and y left (REP 103); errors are estimate minus truth in the map frame.',
    'NEES is the squared error of (x, y, yaw) in units of the covariance that the filter claims; NIS is the same for readings and their prediction.',
    'The map at a moment is that of the newest instant kept before it; ellipses hold the true position with a probability of 95 %.',
    'By keyboard: Tab goes from part to part; arrow keys move the slider, the map or the moment of a chart, + and − zoom, 0 shows all.',
  ];
  const thinned = page.data.filters.filter((filter) => filter.rows.t.length < filter.steps);
  if (thinned.length > 0) {
    const { name, rows, steps } = thinned[0];
    notes.unshift(`Lines show ${whole(rows.t.length)} of the ${whole(steps)} steps of ${name}${thinned.length > 1 ? ' and likewise of the others' : ''}: some at equal distances, and of each stretch of time those at which an error, the NEES, the NIS or a coordinate is least or greatest, so that no peak is lost. The numbers in the tables and all sums are of all steps.`);
  } else {
    notes.unshift('Lines show every step.');
  }
  if (page.data.truth.resolution_m > 0) notes.push(`Of the true path, points closer than ${withUnit(page.data.truth.resolution_m, 'm', 2)} to the last one are left out.`);
  notes.push('Readings that could not be associated with a landmark are in the counts and not on the map.');
  notes.push(`Made by lienav ${page.data.version}. This file needs no network and sends nothing.`);
  byId('notes').replaceChildren(element('ul', {}, notes.map((note) => element('li', {}, note))));
}

page.listeners.push((what) => {
  if (what.has('span')) charts.forEach((one) => one.draw());
  if (what.has('focus') || what.has('hidden')) {
    makeHeadline();
    if (what.has('focus')) makeCharts();
    else charts.forEach((one) => one.draw());
    makeLegend();
  }
  if (what.has('time')) charts.forEach((one) => one.moveCursor());
  tellMoment();
  askForMap();
});

/** Asks the server for newer data as long as it answers. */
function keepUpToDate(address) {
  const sign = byId('live');
  sign.hidden = false;
  const ask = async () => {
    try {
      const answer = await fetch(address, { cache: 'no-store' });
      if (!answer.ok) throw new Error(`${answer.status}`);
      const isLast = answer.headers.get('lienav-run') === 'ended';
      show(await answer.json());
      sign.textContent = isLast ? '· the run has ended' : '· live';
      if (!isLast) setTimeout(ask, 1000);
    } catch {
      sign.textContent = '· the run has ended';
    }
  };
  ask();
}

makeTheme(() => {
  charts.forEach((one) => one.draw());
  if (map.canvas && page.data.filters.length > 0) drawMap();
});
show(JSON.parse(byId('data').textContent));
onOtherWidth(() => {
  charts.forEach((one) => one.draw());
  if (page.data.filters.length > 0) askForMap();
});
const live = document.querySelector('meta[name="lienav-live"]').content;
if (live) keepUpToDate(live);

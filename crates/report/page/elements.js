// What all parts of the page share: the data, what is chosen, elements, and numbers as text.

/** What is chosen, and who wants to know of a change. */
const page = {
  data: { filters: [], truth: { pieces: [], id: [], x: [], y: [] }, bands: [], duration_s: 0 },
  /** The filter whose bands, readings and causes are shown, by its index. */
  focus: 0,
  /** Filters that are not drawn, by name. */
  hidden: new Set(),
  /** The moment that the map shows, s since the start. */
  time: 0,
  /** The span of time that charts show, s since the start. */
  span: [0, 1],
  listeners: [],
};

/** Changes what is chosen and tells everybody: `what` has the names of what changed. */
function choose(changes) {
  Object.assign(page, changes);
  const what = new Set(Object.keys(changes));
  for (const listener of page.listeners) listener(what);
}

function chooseTime(time) {
  choose({ time: clamp(time, 0, page.data.duration_s) });
}

/** Shows the span from `from` to `to` in all charts: within the run, and not shorter than a fifth of a second. */
function chooseSpan(from, to) {
  const end = Math.max(page.data.duration_s, 1e-3);
  const width = clamp(to - from, Math.min(0.2, end), end);
  const begin = clamp(from, 0, end - width);
  choose({ span: [begin, begin + width] });
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const known = (value) => value !== null && value !== undefined && Number.isFinite(value);
const focused = () => page.data.filters[page.focus];
const shownFilters = () => page.data.filters.filter((filter) => !page.hidden.has(filter.name));
/** These have the first colors, in this order, as in the plots (plot/colors.rs); others take those that are left, by name. */
const OWN_COLORS = ['default', 'ekf', 'reduced', 'fe-ekf', 'oc-ekf', 'invariant'];
function colorOf(filter) {
  const names = page.data.filters.map((one) => one.name);
  const own = (name) => OWN_COLORS.indexOf(name);
  const others = [...new Set(names.filter((name) => own(name) < 0))].sort();
  const free = [...Array(names.length + OWN_COLORS.length).keys()].filter((place) => !names.some((name) => own(name) === place));
  const place = own(filter.name) < 0 ? free[others.indexOf(filter.name)] : own(filter.name);
  return `var(--c${place % 8})`;
}
const byId = (id) => document.getElementById(id);

/** A variable of the style sheet, as the theme in force has it. */
const styled = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function fill(parent, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) parent.addEventListener(name.slice(2), value);
    else if (value === true) parent.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) parent.setAttribute(name, value);
  }
  parent.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return parent;
}

/** An element with attributes (`onclick` … are listeners) and children. Texts are never taken for markup. */
const element = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const drawn = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const swatch = (color) => {
  const mark = element('span', { class: 'swatch', 'aria-hidden': 'true' });
  mark.style.background = color;
  return mark;
};

/** A number with so many digits that count, and no exponent where a person would write none. */
function digits(value, count = 3) {
  if (!known(value)) return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return value.toExponential(count - 1).replace('e+', 'e').replaceAll('-', '−');
  const fixed = size === 0 ? 0 : clamp(count - 1 - Math.floor(Math.log10(size)), 0, 8);
  // Zero has no sign.
  return (value + 0).toLocaleString('en', { minimumFractionDigits: fixed, maximumFractionDigits: fixed, useGrouping: size >= 1e4 }).replace('-', '−');
}

/** The same without zeros at the end, for axes and round numbers. */
function label(value, count = 4) {
  const text = digits(value, count);
  return text.includes('.') && !text.includes('e') ? text.replace(/\.?0+$/, '') : text;
}

/** A moment, s, to a hundredth. */
const moment = (time) => `${time.toFixed(2)}\u202fs`;

const withUnit = (value, unit, count = 3) => (known(value) ? `${digits(value, count)}\u202f${unit}` : '–');
const whole = (value) => (known(value) ? value.toLocaleString('en') : '–');
const percent = (value, count = 3) => (known(value) ? `${digits(100 * value, count)}\u202f%` : '–');
const words = (name) => name.replaceAll('_', ' ');

/** Seconds as a person says them, for a text: 21 min 3 s. */
function lasting(seconds) {
  if (seconds < 120) return `${label(seconds, 3)}\u202fs`;
  const minutes = Math.floor(seconds / 60);
  const rest = Math.round(seconds - 60 * minutes);
  if (minutes < 120) return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** An angle in (−π, π]. */
const wrapped = (angle) => angle - 2 * Math.PI * Math.ceil((angle - Math.PI) / (2 * Math.PI));

/** The index of the last entry of an increasing list that is at or before `value`; −1 where all are after it. */
function lastAt(list, value) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

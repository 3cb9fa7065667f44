// How the page is dressed: light or dark, as the system has it until the reader chooses; paper is white; any width.

/** Makes the buttons of the head; `redraw` is called when colours or the size of the page have changed. */
function makeTheme(redraw) {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  const apply = () => {
    const isDark = !page.isPrinting && (chosen ?? dark.matches);
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    byId('theme').textContent = isDark ? '☀ Light' : '☾ Dark';
    byId('theme').setAttribute('aria-pressed', String(isDark));
    byId('theme').setAttribute('aria-label', isDark ? 'Change to the light theme' : 'Change to the dark theme');
    redraw();
  };
  byId('theme').addEventListener('click', () => { chosen = !(chosen ?? dark.matches); apply(); });
  dark.addEventListener('change', apply);
  const print = (isPrinting) => { page.isPrinting = isPrinting; apply(); };
  window.addEventListener('beforeprint', () => print(true));
  window.addEventListener('afterprint', () => print(false));
  byId('print').addEventListener('click', () => window.print());
  apply();
}

/** Calls `redraw` when the page has become wider or narrower. */
function onOtherWidth(redraw) {
  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    redraw();
  }).observe(document.body);
}

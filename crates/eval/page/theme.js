// Light and dark: as the system has it, until the reader chooses. Paper is white.

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

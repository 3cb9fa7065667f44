"""The page of a report in a real browser: `python3 tests/page.py report.html`, or the address of a live page.

It opens the page in both themes, on a desktop and on a phone, moves the slider, the map and the charts with mouse and
keyboard, and prints it. It prints `skipped: …` where there is no Chromium, and exits with 1 where anything is wrong.
"""

import argparse
import json
import pathlib
import sys
import tempfile

from browser import Browser, chromium

# A second on a quiet machine; those that test have others on them.
MOST_SECONDS_TO_OPEN = 5.0


def check(is_so, what):
    if not is_so:
        raise AssertionError(what)


def opening_time(page):
    """Seconds from the request to the end of loading: the script has then drawn everything."""
    return page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd / 1000")


def picture(page):
    """What the map shows now, as a text that changes with it."""
    page.settle()
    return page.evaluate("document.querySelector('#canvas').toDataURL()")


def text(page, selector):
    return page.evaluate(f"document.querySelector({selector!r}).textContent")


def slider_moves_the_moment(page):
    page.evaluate("document.querySelector('#slider').focus()")
    before, at_end = picture(page), text(page, "#now")
    page.press("Home")
    check(text(page, "#now").startswith("0.00"), f"Home: {text(page, '#now')}")
    check(picture(page) != before, "the map did not change with the slider")
    page.press("ArrowRight", 10)
    check(not text(page, "#now").startswith("0.00"), "arrow keys do not move the slider")
    check("NEES" in text(page, "#moment"), text(page, "#moment"))
    spoken = page.evaluate("document.querySelector('#slider').getAttribute('aria-valuetext')")
    check("seconds of" in spoken, spoken)
    page.press("End")
    check(text(page, "#now") == at_end, f"End: {text(page, '#now')} is not {at_end}")


def map_zooms_and_moves(page):
    left, top, width, height = page.box("#canvas")
    middle = (left + width / 2, top + height / 2)
    seen = [picture(page)]
    page.drag(middle, (middle[0] + 80, middle[1] + 30))
    seen.append(picture(page))
    page.mouse("mouseWheel", *middle, deltaX=0, deltaY=-300)
    seen.append(picture(page))
    for key in ("+", "-", "ArrowLeft", "0"):
        page.press(key)
        seen.append(picture(page))
    check(len(set(seen[:-1])) >= 5, "drag, wheel and keys do not all change the map")
    check(seen[-1] == seen[0], "0 does not show all again")
    page.evaluate("document.querySelector('.zoom button').click()")
    check(picture(page) != seen[0], "the button does not zoom")
    page.evaluate("document.querySelector('.zoom button:last-child').click()")


def charts_zoom_in_time(page):
    chart = "#consistency-charts .plot"
    ticks = f"[...document.querySelectorAll('{chart} text')].map((one) => one.textContent).join(' ')"
    whole = page.evaluate(ticks)
    left, top, width, height = page.box(chart)
    page.drag((left + 0.4 * width, top + height / 2), (left + 0.6 * width, top + height / 2))
    page.settle()
    check(page.evaluate(ticks) != whole, "dragging over a chart does not zoom")
    page.evaluate(f"document.querySelector('{chart}').focus()")
    before = text(page, "#now")
    page.press("ArrowLeft", 3)
    check(text(page, "#now") != before, "arrow keys on a chart do not move the moment")
    page.press("0")
    check(page.evaluate(ticks) == whole, "0 does not show the whole run")
    label = page.evaluate(f"document.querySelector('{chart}').getAttribute('aria-label')")
    check("root mean square" in label, label)


def everything_can_be_reached_by_tab(page, address):
    reached, order = set(), []
    page.load(address)
    for _ in range(80):
        page.press("Tab")
        here = page.evaluate("document.activeElement.id || document.activeElement.className || document.activeElement.tagName")
        order.append(here)
        reached.add(here)
    for wanted in ("skip", "theme", "canvas", "slider", "play", "plot"):
        check(wanted in reached, f"Tab does not reach '{wanted}': {order}")
    check(order.index("canvas") < order.index("slider") < order.index("plot"), f"order of focus: {order}")
    unnamed = page.evaluate("""[...document.querySelectorAll('button, select, input, [role=img]')]
        .filter((one) => !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length)).map((one) => one.outerHTML)""")
    check(not unnamed, f"without a name: {unnamed}")


def theme_changes(page):
    paper = "getComputedStyle(document.body).backgroundColor"
    before, shown = page.evaluate(paper), picture(page)
    page.evaluate("document.querySelector('#theme').click()")
    check(page.evaluate(paper) != before, "the theme does not change")
    check(picture(page) != shown, "the map does not change with the theme")
    page.evaluate("document.querySelector('#theme').click()")


def focus_changes(page):
    radios = page.evaluate("document.querySelectorAll('input[name=focus]').length")
    if radios < 2:
        return
    said = text(page, "#verdict")
    page.evaluate("document.querySelectorAll('input[name=focus]')[1].click()")
    check(text(page, "#verdict") != said, "another filter in focus says the same")
    page.evaluate("document.querySelectorAll('input[name=focus]')[0].click()")


def nothing_is_wrong(page, address):
    check(not page.complaints(), f"the console says: {page.complaints()}")
    others = [asked for asked in page.requests() if asked != address and not asked.startswith("data:")]
    check(not others, f"the page asks for {others}")


def fits(page, width):
    check(page.evaluate("document.documentElement.scrollWidth") <= width, f"wider than {width} pixels")


def check_file(path):
    address = pathlib.Path(path).resolve().as_uri()
    with Browser() as browser:
        page = browser.open(address, dark=False)
        seconds = opening_time(page)
        for step in (slider_moves_the_moment, map_zooms_and_moves, charts_zoom_in_time, theme_changes, focus_changes):
            step(page)
        everything_can_be_reached_by_tab(page, address)
        fits(page, 1280)
        nothing_is_wrong(page, address)
        dark = browser.open(address, dark=True)
        check(dark.evaluate("document.documentElement.dataset.theme") == "dark", "the system's dark theme is not taken")
        with tempfile.TemporaryDirectory() as folder:
            dark.evaluate("window.addEventListener('beforeprint', () => { window.paper = document.documentElement.dataset.theme; })")
            dark.pdf(pathlib.Path(folder) / "report.pdf")
            size = (pathlib.Path(folder) / "report.pdf").stat().st_size
        check(size > 20_000, f"printed on {size} bytes")
        check(dark.evaluate("window.paper") == "light", "paper is not white")
        check(dark.evaluate("document.documentElement.dataset.theme") == "dark", "after printing, the theme is another")
        phone = browser.open(address, 390, 844, touch=True)
        phone.settle()
        fits(phone, 390)
        small = phone.evaluate("""[...document.querySelectorAll('button')].filter((one) => one.offsetParent && one.offsetHeight < 32).length""")
        check(small == 0, f"{small} buttons are too small for a finger")
        nothing_is_wrong(phone, address)
    check(seconds < MOST_SECONDS_TO_OPEN, f"opened in {seconds:.2f} s")
    print(f"opened in {seconds:.2f} s; slider, map, charts, keys, themes, phone and paper are as they should be")


def check_experiment(path):
    """The page of a Monte Carlo experiment."""
    address = pathlib.Path(path).resolve().as_uri()
    with Browser() as browser:
        page = browser.open(address)
        page.settle()
        chart = "#growth-charts .plot"
        ticks = f"[...document.querySelectorAll('{chart} text')].map((one) => one.textContent).join(' ')"
        whole = page.evaluate(ticks)
        left, top, width, height = page.box(chart)
        page.drag((left + 0.4 * width, top + height / 2), (left + 0.6 * width, top + height / 2))
        check(page.evaluate(ticks) != whole, "dragging over a chart does not zoom")
        lines = "document.querySelectorAll('#growth-charts .plot path').length"
        drawn = page.evaluate(lines)
        page.evaluate("document.querySelector('#table input[type=checkbox]').click()")
        check(page.evaluate(lines) < drawn, "a filter that is not to be drawn is")
        check(page.evaluate("document.querySelectorAll('#runs-charts circle').length") > 0, "no runs are drawn")
        check("undefined" not in page.evaluate("document.body.innerText"), "a number is undefined")
        fits(page, 1280)
        nothing_is_wrong(page, address)
        phone = browser.open(address, 390, 844, dark=True, touch=True)
        phone.settle()
        fits(phone, 390)
        nothing_is_wrong(phone, address)
    print("the page of an experiment is as it should be")


def check_live(address):
    """The page of a run that goes on: it shows data that come after it was opened."""
    shows = """new Promise((done) => {{ const look = () => document.querySelector('#live').textContent.includes('live')
        && {} ? done(1) : setTimeout(look, 100); look(); }})"""
    with Browser() as browser:
        page = browser.open(address)
        page.evaluate(shows.format("document.querySelector('#moment').textContent"))
        first, seen = text(page, "#subtitle"), picture(page)
        page.evaluate(shows.format(f"document.querySelector('#subtitle').textContent !== {json.dumps(first)}"))
        check(picture(page) != seen, f"the map did not change from '{first}' to '{text(page, '#subtitle')}'")
        check(not page.complaints(), f"the console says: {page.complaints()}")
        print(f"live: {text(page, '#subtitle')}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("page", help="a report.html, or the address of a live page")
    page = arguments.parse_args().page
    if chromium() is None:
        print("skipped: no Chromium on this machine")
        return
    try:
        if page.startswith("http:"):
            check_live(page)
        elif "growth-charts" in pathlib.Path(page).read_text():
            check_experiment(page)
        else:
            check_file(page)
    except AssertionError as wrong:
        sys.exit(f"{page}: {wrong}")


if __name__ == "__main__":
    main()

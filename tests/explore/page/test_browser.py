"""The page in a browser: what is shown, and what a click, a key or a slider changes."""

import re
import threading

import numpy as np
import pytest

from cormorant.datasets.features import simulate_features
from cormorant.estimators import BetaBernoulliFeatures
from cormorant.explore import page
from cormorant.explore.labels import component_labels
from cormorant.explore.serve import make_server

from .models import HOSTILE, large, small

pytest.importorskip("playwright.sync_api", reason="pages are tested with playwright: pip install it")
from playwright.sync_api import expect

LABELS = component_labels(small())
LONG_NAMES = np.array([f"The name of a diagnosis {i}, without complication" for i in range(4)], dtype=object)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Pages by name, written once."""
    folder = tmp_path_factory.mktemp("pages")
    models = {
        "small": small(),
        "independent": small(locations_=np.zeros((4, 0))),
        "large": large(),
        "one": small(n_components_used_=1),
        "long": small(column_names_=LONG_NAMES),
    }
    return {name: page.write(model, folder / f"{name}.html").as_uri() for name, model in models.items()}


@pytest.fixture
def tab(open_page, files):
    return open_page(files["small"])


def shown_pairs(tab):
    return int(re.match(r"[\d,]+", tab.inner_text("#edge-count"))[0].replace(",", ""))


def heading(tab):
    return tab.locator("#panel h2")


@pytest.mark.parametrize("width", [320, 360, 375, 1200])
def test_what_to_search_for_has_room(open_page, files, width):
    tab = open_page(files["small"], viewport={"width": width, "height": 640})
    room, needed = tab.evaluate("""() => {
        const input = document.getElementById("search-input"), style = getComputedStyle(input);
        const brush = document.createElement("canvas").getContext("2d");
        brush.font = style.font;
        const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        return [room, brush.measureText(input.placeholder).width];
    }""")
    assert needed <= room


def test_the_page_loads(tab):
    expect(tab).to_have_title("Components of cnpf")
    expect(tab.locator("#summary")).to_have_text("cnpf: 3 rows, 4 columns, 3 of 4 components in use")
    expect(tab.locator(".node")).to_have_count(3)
    expect(tab.locator("#lookup")).to_be_hidden()
    assert shown_pairs(tab) == 3


def test_one_row_and_one_column(open_page, tmp_path):
    content = page.document(small()) | {"nRows": 1, "nColumns": 1}
    (tmp_path / "page.html").write_text(page.render(content), encoding="utf-8")
    tab = open_page((tmp_path / "page.html").as_uri())
    expect(tab.locator("#summary")).to_have_text("cnpf: 1 row, 1 column, 3 of 4 components in use")


def test_edges_run_around_nodes_that_they_only_pass(open_page, tmp_path):
    """Through a node an edge would seem to end there."""
    content = page.document(small())
    content["correlations"]["places"] = [[-100, 0], [100, 0], [0, 0]]  # 2 between 0 and 1, which are joined
    content["correlations"]["threshold"] = 0.1
    (tmp_path / "page.html").write_text(page.render(content), encoding="utf-8")
    tab = open_page((tmp_path / "page.html").as_uri())
    expect(tab.locator(".node")).to_have_count(3)
    free = tab.evaluate("""() => {
        const nodes = [...document.querySelectorAll(".node")].map((node) => {
            const { e, f } = node.getCTM();
            return [e, f, Number(node.querySelector(".dot").getAttribute("r"))];
        });
        const found = [];
        for (const path of document.querySelectorAll(".edges:not(.emphasis) path"))
            for (const one of path.getAttribute("d").split(/(?=M)/)) {
                const edge = path.cloneNode();
                edge.setAttribute("d", one);
                path.parentElement.append(edge);
                const along = [...Array(101).keys()].map((step) =>
                    edge.getPointAtLength((step / 100) * edge.getTotalLength()).matrixTransform(edge.getCTM()));
                edge.remove();
                const far = (x, y, r, point) => Math.hypot(point.x - x, point.y - y) - r;
                const passed = nodes.filter(([x, y, r]) => far(x, y, r, along[0]) > 0 && far(x, y, r, along[100]) > 0);
                for (const node of passed) found.push(Math.min(...along.map((point) => far(...node, point))));
            }
        return found;
    }""")
    assert len(free) == 3  # every edge passes one node
    assert min(free) > 0


def test_click_shows_a_component(tab):
    tab.locator(".node").nth(2).click()
    expect(heading(tab)).to_have_text(LABELS[2])
    names = tab.locator("#panel .columns .name")
    expect(names).to_have_text([HOSTILE, "bird", "apple", "Ünal"])
    expect(tab.locator("#panel .columns .number").first).to_have_text("60%")
    widths = tab.locator("#panel .columns .bar i").evaluate_all("bars => bars.map((bar) => bar.offsetWidth)")
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 2 * widths[1] > 0
    expect(tab.locator("#panel .rows .name").first).to_have_text("<img src=x onerror=alert(2)>")
    expect(tab.locator("#panel figcaption")).to_contain_text("weight 0.390, number 3 of 4")
    expect(tab.locator(".node").nth(2)).to_have_attribute("aria-pressed", "true")
    assert tab.evaluate("location.hash") == "#component-2"


def test_related_and_opposed_components_lead_on(tab):
    tab.locator(".node").nth(0).click()
    together, apart = (tab.locator("#panel section", has_text=text) for text in ("Goes together with", "Avoids"))
    expect(together.locator(".number")).to_have_text(["+0.60"])
    expect(apart.locator(".number")).to_have_text(["\N{MINUS SIGN}1.00"])
    apart.get_by_role("button").click()
    expect(heading(tab)).to_have_text(LABELS[2])
    expect(tab.locator("#panel")).to_be_focused()  # the button is gone, the reader is not lost


def test_hostile_names_stay_text(tab):
    tab.locator(".node").nth(2).click()
    tab.click("#tab-components")
    tab.fill("#search-input", "script")
    expect(tab.locator("#search-list .name", has_text=HOSTILE).first).to_be_visible()
    assert tab.locator("script").count() == 2
    assert tab.locator("img").count() == 0


def test_the_policy_stops_foreign_script(open_page, files, browser):
    """Were a name ever to become markup, it would not run: neither as a script nor as a handler."""
    tab = browser.new_page()
    tab.goto(files["small"])
    refused = tab.evaluate("""() => {
        try { document.body.innerHTML = "<img src=x onerror='window.ran = 1'>"; return false; }
        catch (error) { return error instanceof TypeError; }
    }""")
    assert refused
    tab.evaluate("""() => {
        const script = document.createElement("script");
        try { script.text = "window.ran = 1"; document.body.append(script); } catch {}
    }""")
    assert tab.evaluate("window.ran") is None
    tab.close()


def test_the_slider_changes_the_pairs(tab):
    tab.fill("#threshold", "0.9")
    expect(tab.locator("#edge-count")).to_have_text("1 pair")
    expect(tab.locator("#threshold-value")).to_have_text("±0.90")
    expect(tab.locator(".edges:not(.emphasis) path")).to_have_class(["negative"])
    tab.fill("#threshold", "0.55")
    expect(tab.locator("#edge-count")).to_have_text("2 pairs")
    signs = tab.locator(".edges:not(.emphasis) path").evaluate_all("all => all.map((path) => path.className.baseVal)")
    assert sorted(signs) == ["negative", "positive"]


def test_signs_can_be_hidden_and_differ_by_colour_and_dash(tab):
    style = "(path) => [getComputedStyle(path).stroke, getComputedStyle(path).strokeDasharray]"
    positive = tab.locator(".edges .positive").first.evaluate(style)
    negative = tab.locator(".edges .negative").first.evaluate(style)
    assert positive[0] != negative[0]
    assert positive[1] == "none" != negative[1]
    tab.uncheck("#show-negative")
    expect(tab.locator("#edge-count")).to_have_text("1 pair")
    expect(tab.locator(".edges .negative")).to_have_count(0)


def test_search_finds_components_and_columns(tab):
    tab.fill("#search-input", "unal")  # without the dots, in lower case
    options = tab.locator("#search-list [role=option]")
    expect(options).to_have_count(4)  # the column of that name, then the components, all of whose labels have it
    expect(options.first).to_contain_text("column, mostly in")
    options.first.click()
    # The component that holds most of that column, with the column pointed out.
    expect(heading(tab)).to_have_text(LABELS[0])
    expect(tab.locator("#panel .pointed .name")).to_have_text("Ünal")
    expect(tab.locator("#search-input")).to_have_value("")


def test_search_makes_matches_stand_out(tab):
    tab.click("#tab-components")
    tab.fill("#search-input", "2")
    expect(tab.locator(".card:visible")).to_have_count(1)
    tab.fill("#search-input", "no such thing")
    expect(tab.locator("#search-list")).to_have_text("Nothing found.")
    expect(tab.locator("#view-components")).to_contain_text("No component matches")
    tab.fill("#search-input", "")
    expect(tab.locator(".card:visible")).to_have_count(3)
    expect(tab.locator("#search-list")).to_be_hidden()


def test_a_column_outside_the_top_is_added(open_page, files):
    tab = open_page(files["large"])
    column = tab.evaluate("""() => {
        const data = JSON.parse(document.getElementById("data").textContent);
        const shown = new Set(data.components.flatMap((c) => [...c.columns, ...c.distinctive]).map(([id]) => id));
        return data.columns.names[data.columns.ids.findIndex((id) => !shown.has(id))];
    }""")
    tab.fill("#search-input", column)
    tab.press("#search-input", "Enter")
    expect(tab.locator("#panel .pointed .name")).to_have_text(column)
    expect(tab.locator("#panel .columns li")).to_have_count(16)


def test_largest_and_most_distinctive(tab):
    tab.locator(".node").nth(1).click()
    names = tab.locator("#panel .columns .name")
    expect(names).to_have_text(["bird", HOSTILE, "apple", "Ünal"])
    tab.get_by_role("button", name="Most distinctive").click()
    # As frequent as apple here, and rarer elsewhere.
    expect(names).to_have_text(["bird", "Ünal", HOSTILE, "apple"])
    expect(tab.get_by_role("button", name="Most distinctive")).to_have_attribute("aria-pressed", "true")


def test_keyboard_in_the_graph(tab):
    node = tab.locator(".node").first
    node.focus()
    tab.keyboard.press("Enter")
    expect(heading(tab)).to_have_text(LABELS[0])
    places = tab.locator(".node").evaluate_all("all => all.map((node) => node.getCTM().e)")
    towards = "ArrowRight" if places[0] < max(places) else "ArrowLeft"
    tab.keyboard.press(towards)
    assert tab.evaluate("[...document.querySelectorAll('.node')].indexOf(document.activeElement)") > 0
    outline = tab.locator(".node:focus .dot").evaluate("dot => getComputedStyle(dot).strokeWidth")
    assert outline == "4px"  # the focus is seen
    tab.keyboard.press("Enter")
    expect(heading(tab)).not_to_have_text(LABELS[0])
    tab.keyboard.press("Escape")
    expect(heading(tab)).to_have_count(0)
    assert tab.evaluate("location.hash") == ""


def test_one_stop_of_the_tab_key_for_the_graph(open_page, files):
    tab = open_page(files["large"])
    assert tab.locator(".node[tabindex='0']").count() == 1
    tab.locator("#zoom-fit").focus()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.classList.contains('node')")
    tab.keyboard.press("Tab")
    assert not tab.evaluate("document.activeElement.classList.contains('node')")


def test_keyboard_in_the_search(tab):
    tab.fill("#search-input", "i")
    expect(tab.locator("#search-list")).to_be_visible()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    expect(tab.locator("#search-list [aria-selected=true]")).to_have_count(1)
    chosen = tab.locator("#search-list [aria-selected=true] .name").first.inner_text()
    assert tab.get_attribute("#search-input", "aria-activedescendant") == "search-1"
    tab.keyboard.press("Enter")
    expect(heading(tab)).to_have_text(chosen)
    tab.fill("#search-input", "i")
    tab.keyboard.press("Escape")
    expect(tab.locator("#search-list")).to_be_hidden()
    expect(heading(tab)).to_have_text(chosen)  # the first escape ends the search, the second the details
    tab.keyboard.press("Escape")
    expect(heading(tab)).to_have_count(0)


def test_keyboard_in_tabs_and_heatmap(tab):
    tab.locator("#tab-graph").focus()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#tab-heatmap")).to_be_focused()
    expect(tab.locator("#view-heatmap")).to_be_visible()
    expect(tab.locator("#view-graph")).to_be_hidden()
    tab.keyboard.press("Tab")
    expect(tab.locator("#heatmap")).to_be_focused()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#heatmap-reading")).to_contain_text(re.compile("go together|avoid each other"))
    tab.keyboard.press("Enter")
    expect(heading(tab)).to_have_count(1)


def test_the_heatmap_shows_signs_by_colour(tab):
    tab.click("#tab-heatmap")
    pixel = "(canvas, at) => [...canvas.getContext('2d').getImageData(...at, 1, 1).data]"
    data = page.document(small())["correlations"]
    where = {component: at for at, component in enumerate(data["order"])}
    cells = tab.locator("#heatmap-cells")
    expect(tab.locator("#heatmap-labels text")).to_have_count(3)
    together = cells.evaluate(pixel, [where[0], where[1]])
    apart = cells.evaluate(pixel, [where[0], where[2]])
    assert together[2] > together[1]  # purple: more blue than green
    assert apart[0] > 1.5 * apart[1] > 1.5 * apart[2]  # orange: red, some green, hardly any blue
    size = cells.bounding_box()
    assert size is not None
    cell = size["width"] / 3
    cells.click(position={"x": (where[1] + 0.5) * cell, "y": (where[0] + 0.5) * cell})
    expect(tab.locator("#heatmap-reading")).to_contain_text("go together: +0.60")
    expect(heading(tab)).to_have_text(LABELS[0])


def test_labels_of_the_heatmap_are_whole(open_page, files):
    tab = open_page(files["long"])
    tab.click("#tab-heatmap")
    labels = tab.locator("#heatmap-labels text")
    expect(labels).to_have_count(3)
    whole = component_labels(small(column_names_=LONG_NAMES))[:3]
    assert sorted(labels.all_text_contents()) == sorted(whole)
    edge = tab.locator("#heatmap-labels").bounding_box()["x"]
    assert all(label.bounding_box()["x"] >= edge for label in labels.all())
    tab.set_viewport_size({"width": 950, "height": 800})  # now they have no room, and end with a word
    expect(labels.first).to_have_text(re.compile(r"[a-z0-9]…$"))
    words = set(" ".join(whole).replace(",", "").split())
    assert all(text.rstrip("…").split()[-1] in words for text in labels.all_text_contents())


def spread(tab):
    """Width of the drawing in pixels, once what was asked for is drawn (at most once a frame)."""
    return tab.evaluate("""async () => {
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const places = [...document.querySelectorAll(".node")].map((node) => node.getCTM().e);
        return Math.max(...places) - Math.min(...places);
    }""")


def test_zoom_and_pan(open_page, files):
    tab = open_page(files["large"])
    place = "() => document.querySelectorAll('.node')[5].getCTM().e"
    width, before = spread(tab), tab.evaluate(place)
    tab.click("#zoom-in")
    assert spread(tab) == pytest.approx(1.4 * width, rel=0.01)
    tab.click("#zoom-fit")
    assert spread(tab) == pytest.approx(width, rel=0.01)
    box = tab.locator("#graph").bounding_box()
    assert box is not None
    x, y = box["x"] + 5, box["y"] + 5
    tab.mouse.move(x, y)
    tab.mouse.wheel(0, -300)
    assert spread(tab) > 1.2 * width
    tab.click("#zoom-fit")
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 60, y + 30, steps=6)
    tab.mouse.up()
    assert spread(tab) == pytest.approx(width, rel=0.01)
    # The first pixels only decide that it is a drag.
    assert tab.evaluate(place) == pytest.approx(before + 60, abs=12)
    expect(heading(tab)).to_have_count(0)


def test_pinch(open_page, files):
    tab = open_page(files["large"], has_touch=True, viewport={"width": 375, "height": 700})
    box = tab.locator("#graph").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    width, fingers = spread(tab), tab.context.new_cdp_session(tab)
    for kind, apart in (("touchStart", 40), ("touchMove", 50), ("touchMove", 60), ("touchMove", 80)):
        points = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert spread(tab) == pytest.approx(2 * width, rel=0.2)  # less what decides that it is a pinch


def test_a_drag_is_no_click(tab):
    tab.locator(".node").nth(0).click()
    box = tab.locator("#graph").bounding_box()
    assert box is not None
    tab.mouse.move(box["x"] + 5, box["y"] + 5)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 50, box["y"] + 40, steps=5)
    tab.mouse.up()
    expect(heading(tab)).to_have_count(1)
    tab.mouse.click(box["x"] + 5, box["y"] + 5)  # on the ground: nothing is selected any more
    expect(heading(tab)).to_have_count(0)


def test_a_link_opens_its_component(open_page, files):
    tab = open_page(files["small"] + "#component-1")
    expect(heading(tab)).to_have_text(LABELS[1])
    tab.evaluate("location.hash = '#component-99'")
    expect(heading(tab)).to_have_text(LABELS[1])


@pytest.mark.parametrize("name", ["independent", "one"])
def test_pages_without_correlations_say_why(open_page, files, name):
    tab = open_page(files[name])
    expect(tab.locator("#independent")).to_contain_text(
        "has no correlations" if name == "independent" else "Only one component"
    )
    expect(tab.locator("[role=tab]:visible")).to_have_count(1)
    expect(tab.locator("#view-graph")).to_be_hidden()
    tab.locator(".card").first.click()
    expect(heading(tab)).to_have_text(LABELS[0])
    expect(tab.locator("#panel")).not_to_contain_text("Avoids")


@pytest.mark.parametrize("name", ["small", "large", "independent"])
def test_small_screens_do_not_scroll_sideways(open_page, files, name):
    tab = open_page(files[name], viewport={"width": 375, "height": 700})
    width = "() => document.documentElement.scrollWidth"
    for button in tab.locator("[role=tab]:visible").all():
        button.click()
        assert tab.evaluate(width) <= 375
    tab.locator(".card").first.click()
    assert tab.evaluate(width) <= 375
    expect(heading(tab)).to_be_in_viewport()
    tab.fill("#search-input", "a")
    assert tab.evaluate(width) <= 375


def test_labels_do_not_overlap(open_page, files):
    tab = open_page(files["large"])
    boxes = tab.locator(".labels text:visible").evaluate_all(
        "all => all.map((text) => text.getBoundingClientRect()).map((b) => [b.left, b.top, b.right, b.bottom])"
    )
    assert len(boxes) > 10
    left, top, right, bottom = np.array(boxes).T[:, :, None]
    # Letters' own boxes are a little higher than the line that is kept free for them.
    slack = 2
    crossing = (left + slack < right.T) & (left.T + slack < right) & (top + slack < bottom.T) & (top.T + slack < bottom)
    assert crossing.sum() == len(boxes)  # each crosses itself alone
    stage = tab.locator("#graph").bounding_box()
    assert stage is not None
    assert left.min() >= stage["x"] - 1
    assert right.max() <= stage["x"] + stage["width"] + 1


def test_shortened_labels_tell_components_apart(open_page, files):
    tab = open_page(files["large"], viewport={"width": 375, "height": 812})
    texts = tab.locator(".labels text:visible").all_text_contents()
    whole = set(component_labels(large()))
    assert any(text not in whole for text in texts)  # there is no room for all
    assert len(texts) > 10
    for text in texts:
        assert len([label for label in whole if f"{label} ".startswith(f"{text} ")]) == 1


def test_themes(open_page, files):
    background = "() => getComputedStyle(document.body).backgroundColor"
    light = open_page(files["small"], color_scheme="light").evaluate(background)
    tab = open_page(files["small"], color_scheme="dark")
    dark = tab.evaluate(background)
    assert light != dark
    tab.click("#tab-heatmap")
    pixel = "() => document.querySelector('#heatmap-cells').getContext('2d').getImageData(0, 0, 1, 1).data.join()"
    before = tab.evaluate(pixel)
    tab.click("#theme")
    assert tab.evaluate(background) == light
    assert tab.evaluate(pixel) != before
    tab.click("#theme")
    assert tab.evaluate(background) == dark


def test_two_hundred_components_are_all_there(open_page, files):
    tab = open_page(files["large"])
    expect(tab.locator(".labels text:visible").first).to_be_visible()
    assert tab.locator(".node").count() == 200


@pytest.mark.slow  # a clock, which other work on the machine would make a liar of
def test_two_hundred_components_are_quick(open_page, files):
    tab = open_page(files["large"])
    expect(tab.locator(".labels text:visible").first).to_be_visible()
    loaded = tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert loaded < 2000  # about 200 on an idle core
    seconds = tab.evaluate("""async () => {
        const slider = document.getElementById("threshold");
        const begin = performance.now();
        for (const value of [slider.min, 0.7, 0.8, 0.9]) {
            slider.value = value;
            slider.dispatchEvent(new Event("input"));
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        }
        return (performance.now() - begin) / 1000;
    }""")
    assert seconds < 2  # with as many of the 19,900 pairs as are ever drawn at first


@pytest.fixture(params=["with counts", "without counts"])
def served(request, fitted, counts):
    with make_server(fitted, counts=counts if request.param == "with counts" else None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server, request.param == "with counts"
        server.shutdown()
        thread.join()


def test_rows_can_be_looked_up(open_page, served):
    server, has_counts = served
    tab = open_page(server.url)
    tab.fill("#lookup-input", "row-2")
    expect(tab.locator("#lookup-list [role=option]")).to_have_count(11)  # row-2 and row-20 to row-29
    tab.locator("#lookup-list [role=option]", has_text="row-29").click()
    expect(heading(tab)).to_have_text("row-29")
    expect(tab.locator("#panel")).to_contain_text("Components")
    expect(tab.locator("#panel section", has_text="Would show next")).to_have_count(int(has_counts))
    tab.locator("#panel .link").first.click()
    expect(tab.locator("#panel .kicker").first).to_contain_text("Component")
    # The rows that stand for a component can be opened too.
    name = tab.locator("#panel .rows .link").first.inner_text()
    tab.locator("#panel .rows .link").first.click()
    expect(heading(tab)).to_have_text(name)


@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
def test_a_row_of_features_tells_what_is_missing(open_page):
    y = simulate_features(likelihood="gaussian", n_rows=30, n_columns=6, n_components=2, seed=0).y
    y[3, 4] = np.nan
    model = BetaBernoulliFeatures(4, 1, n_starts=1, n_sweeps=10, n_samples=2, random_state=0).fit(y)
    with make_server(model, counts=y) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            tab = open_page(server.url)
            tab.fill("#lookup-input", "3")
            tab.locator("#lookup-list [role=option]").first.click()
            expect(tab.locator("#panel section", has_text="Furthest from the background")).to_be_visible()
            missing = tab.locator("#panel section", has_text="Missing, and expected")
            expect(missing.locator("li")).to_have_count(1)
            shown = float(missing.locator(".number").inner_text().replace("\N{MINUS SIGN}", "-"))
            assert shown == pytest.approx(model.predict_mean(y[[3]])[0, 4], rel=0.01)
        finally:
            server.shutdown()
            thread.join()


def test_a_row_that_is_not_found(open_page, served):
    tab = open_page(served[0].url)
    tab.fill("#lookup-input", "<b>nobody</b>")
    expect(tab.locator("#lookup-list")).to_have_text("No row has such a name or number.")


def test_a_server_that_has_stopped(browser, fitted):
    with make_server(fitted) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        tab = browser.new_page()
        tab.goto(server.url)
        server.shutdown()
        thread.join()
    tab.fill("#lookup-input", "row")
    expect(tab.locator("#lookup-list")).to_have_text("The server does not answer; has it been stopped?")
    tab.close()

// A text field with a list of suggestions, after the ARIA pattern: arrows, enter, escape.

/**
 * `find(query)` gives (a promise of) {items, note}; an item has `content` (nodes) and `choose` (what to do).
 * `typed(query)` is told of every change.
 */
function startCombobox(name, { find, typed = () => {} }) {
  const input = byId(`${name}-input`);
  const list = byId(`${name}-list`);
  let items = [];
  let active = -1;
  let asked = 0;

  Object.entries({ role: "combobox", "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list", autocomplete: "off" }).forEach(
    ([key, value]) => input.setAttribute(key, value)
  );
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", input.placeholder);

  const close = () => {
    asked++; // an answer that is still on its way comes too late
    items = [];
    active = -1;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  const choose = (at) => {
    const { choose: act } = items[at];
    input.value = "";
    typed("");
    close();
    act();
  };

  const point = (at) => {
    active = at;
    [...list.querySelectorAll("[role=option]")].forEach((option, index) => {
      option.setAttribute("aria-selected", index === at);
      if (index !== at) return;
      option.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", option.id);
    });
  };

  const show = (found) => {
    items = found.items;
    const options = items.map(({ content }, at) =>
      element("li", { role: "option", id: `${name}-${at}`, "aria-selected": "false", onclick: () => choose(at) }, ...content)
    );
    const note = found.note ? [element("li", { class: "note", role: "presentation" }, found.note)] : [];
    list.replaceChildren(...options, ...note);
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    active = -1;
  };

  const search = async () => {
    const query = input.value.trim();
    typed(query);
    if (!query) return close();
    const mine = ++asked;
    const found = await find(query);
    if (mine === asked) show(found);
  };

  input.addEventListener("input", search);
  input.addEventListener("focus", search);
  input.addEventListener("blur", () => setTimeout(close, 150)); // after a click on an option
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && items.length) point((active + 1) % items.length);
    else if (event.key === "ArrowUp" && items.length) point((active <= 0 ? items.length : active) - 1);
    else if (event.key === "Enter" && items.length) choose(Math.max(active, 0));
    else if (event.key === "Escape" && input.value) {
      input.value = "";
      search();
      event.stopPropagation();
    } else return;
    event.preventDefault();
  });
}

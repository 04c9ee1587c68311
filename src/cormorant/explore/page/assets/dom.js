// Elements without markup: names come from data, so text is only ever set as text.

const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);

/** An element with attributes and children; strings become text. Attributes that are null are left out. */
function element(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

function svgElement(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** A name from the data: it keeps its own direction and cannot turn that of the text around it. */
const nameOf = (text) => element("bdi", { class: "name" }, text);

const percent = (share) => {
  const value = 100 * share;
  return `${value >= 10 ? value.toFixed(0) : value >= 0.1 ? value.toFixed(1) : value.toPrecision(1)}%`;
};

const counted = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

const signed = (rho) => `${rho < 0 ? "−" : "+"}${Math.abs(rho).toFixed(2)}`;

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** Calls `action` at most once a frame, however often it is asked for. */
function onceAFrame(action) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      action();
    });
  };
}

// Labels beside nodes: the important ones first, each only where it covers no node and no other label.

const LABEL_FONT = 12;
const LABEL_GAP = 4;
const LABEL_AIR = 8;
const pen = element("canvas").getContext("2d");

/** Width of a text in pixels, remembered: measuring is the slow part of placing. */
const textWidth = (() => {
  const known = { 400: new Map(), 600: new Map() };
  return (text, strong = false) => {
    const weight = strong ? 600 : 400;
    if (!known[weight].has(text)) {
      pen.font = `${weight} ${LABEL_FONT}px system-ui, sans-serif`;
      known[weight].set(text, pen.measureText(text).width);
    }
    return known[weight].get(text);
  };
})();

/** The text, or as many of its words as fit with an ellipsis (of a long word, its letters). */
function fitText(text, width) {
  if (textWidth(text) <= width) return text;
  for (const between of [" ", ""]) {
    const parts = text.split(between);
    while (parts.length > 1) {
      parts.pop();
      const shorter = `${parts.join(between).replace(/[ ,;:([]+$/, "")}…`;
      if (textWidth(shorter) <= width) return shorter;
    }
  }
  return "…";
}

/** Boxes around a node in which this text could stand, the best first. */
function labelBoxes({ x, y, radius, strong }, text) {
  const width = textWidth(text, strong);
  const height = LABEL_FONT + 3;
  const beside = radius + LABEL_GAP;
  const box = (left, top) => ({ text, left, top, right: left + width, bottom: top + height });
  return [
    box(x + beside, y - height / 2),
    box(x - beside - width, y - height / 2),
    box(x - width / 2, y + beside - 1),
    box(x - width / 2, y - beside - height + 1),
    box(x + 0.7 * beside, y + 0.7 * beside - 2),
    box(x - 0.7 * beside - width, y + 0.7 * beside - 2),
    box(x + 0.7 * beside, y - 0.7 * beside - height + 2),
    box(x - 0.7 * beside - width, y - 0.7 * beside - height + 2),
  ];
}

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Around a node, with so much air that the label of another cannot be taken for its own. */
function nodeBox({ x, y, radius }) {
  const far = radius + LABEL_AIR;
  return { left: x - far, top: y - radius, right: x + far, bottom: y + radius };
}

const NOWHERE = { left: 0, top: 0, right: 0, bottom: 0 }; // overlaps nothing: a pale node may be covered

/**
 * Boxes for the labels of nodes that come in order of importance, each with its text; null where none is wanted or there is no room.
 * A `strong` node has its label whatever it covers, and others give way to it.
 */
function placeLabels(nodes, width, height) {
  const taken = nodes.map((node) => (node.wanted ? nodeBox(node) : NOWHERE));
  const inside = (box) => box.left >= 0 && box.top >= 0 && box.right <= width && box.bottom <= height;
  const free = (box, at) => inside(box) && taken.every((other, index) => index === at || !overlap(box, other));
  return nodes.map((node, at) => {
    if (!node.wanted) return null;
    const boxes = node.texts.flatMap((text) => labelBoxes(node, text));
    const found = boxes.find((box) => free(box, at)) ?? (node.strong ? (boxes.find(inside) ?? boxes[0]) : null);
    if (found) taken.push({ ...found, left: found.left - LABEL_GAP, right: found.right + LABEL_GAP });
    return found;
  });
}

// Looks at a rendered report and writes what is wrong with it into an element, as JSON, for `chromium --dump-dom`. Injected by the test;
// no part of the report. The page may be in a frame: the element is then outside, with the frame.
addEventListener('load', () => {
  const faults = [];
  const fault = (kind, text) => faults.push(kind + ': ' + String(text).slice(0, 160));
  const slack = 1.5;  // pixels, for rounding

  for (const details of document.querySelectorAll('details')) details.open = true;
  const width = document.documentElement.clientWidth;

  const shown = (element) => {
    for (let e = element; e && e.nodeType === 1; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.display === 'none' || style.visibility === 'hidden') return false;
    }
    return !element.closest('title, desc, style, script, head, .skip');
  };

  // --- Colours: what a text is painted with, and on what.
  const parse = (text) => {
    const numbers = (text.match(/[\d.]+/g) || []).map(Number);
    return {r: numbers[0], g: numbers[1], b: numbers[2], a: numbers.length > 3 ? numbers[3] : 1};
  };
  const over = (top, below) => ({
    r: top.r * top.a + below.r * (1 - top.a),
    g: top.g * top.a + below.g * (1 - top.a),
    b: top.b * top.a + below.b * (1 - top.a),
    a: 1,
  });
  const canvas = matchMedia('(prefers-color-scheme: dark)').matches ? {r: 18, g: 18, b: 18, a: 1} : {r: 255, g: 255, b: 255, a: 1};
  const background = (element) => {
    const layers = [];
    for (let e = element; e && e.nodeType === 1; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.a > 0) layers.push(colour);
      if (colour.a === 1) break;
    }
    return layers.reduceRight((below, top) => over(top, below), canvas);
  };
  // In a picture, what was drawn below the text counts.
  const background_in_svg = (text, box) => {
    let colour = background(text.ownerSVGElement);
    for (const shape of text.ownerSVGElement.querySelectorAll('rect, circle')) {
      const b = shape.getBoundingClientRect();
      const covers = b.left <= box.left + 1 && b.right >= box.right - 1 && b.top <= box.top + 1 && b.bottom >= box.bottom - 1;
      if (covers && text.compareDocumentPosition(shape) & Node.DOCUMENT_POSITION_PRECEDING) {
        colour = over(parse(getComputedStyle(shape).fill), colour);
      }
    }
    return colour;
  };
  const luminance = ({r, g, b}) => {
    const linear = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };

  // --- Texts and their boxes.
  const texts = [];
  let least = Infinity;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.textContent.trim() || !shown(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const in_svg = parent instanceof SVGElement;
    const boxes = in_svg ? [parent.getBoundingClientRect()] : [...range.getClientRects()];
    const style = getComputedStyle(parent);
    const colour = parse(in_svg ? style.fill : style.color);
    for (const box of boxes) {
      if (box.width < 1 || box.height < 1) continue;
      const below = in_svg ? background_in_svg(parent, box) : background(parent);
      const found = contrast(over(colour, below), below);
      least = Math.min(least, found);
      if (found < 4.5) fault('contrast', found.toFixed(2) + ' of "' + node.textContent.trim() + '"');
      texts.push({box, node, parent, in_svg, scroll: parent.closest('.scroll')});
    }
  }
  if (texts.length < 50) fault('empty', 'there are ' + texts.length + ' texts');

  // --- Nothing is cut off.
  if (document.documentElement.scrollWidth > width) {
    fault('overflow', 'the page is ' + document.documentElement.scrollWidth + ' wide, the window ' + width);
  }
  for (const {box, node, parent, in_svg, scroll} of texts) {
    if (scroll) continue;  // may be scrolled to
    const words = '"' + node.textContent.trim() + '"';
    if (box.left < -slack || box.right > width + slack) fault('overflow', words);
    if (in_svg) {
      const frame = parent.ownerSVGElement.getBoundingClientRect();
      if (box.left < frame.left - slack || box.right > frame.right + slack || box.top < frame.top - slack ||
          box.bottom > frame.bottom + slack) {
        fault('clipped', words + ' leaves its picture');
      }
      continue;
    }
    const card = parent.closest('.card');
    if (card && box.right > card.getBoundingClientRect().right + slack) fault('clipped', words + ' leaves its card');
    for (let e = parent; e && e !== document.body; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
      const b = e.getBoundingClientRect();
      if (box.right > b.right + slack || box.bottom > b.bottom + slack) fault('clipped', words);
    }
  }

  // --- Nothing lies over anything: texts of pictures have tight boxes, lines of text a little air.
  const parts = texts.filter(({scroll}) => !scroll).map((t) => {
    const air = t.in_svg ? 1 : Math.min(6, t.box.height / 4);
    return {...t, left: t.box.left + 0.5, right: t.box.right - 0.5, top: t.box.top + air, bottom: t.box.bottom - air};
  }).sort((a, b) => a.top - b.top);
  for (let i = 0; i < parts.length; ++i) {
    for (let k = i + 1; k < parts.length && parts[k].top < parts[i].bottom; ++k) {
      const [a, b] = [parts[i], parts[k]];
      if (a.left < b.right && b.left < a.right && a.bottom > b.top) {
        fault('overlap', '"' + a.node.textContent.trim() + '" and "' + b.node.textContent.trim() + '"');
      }
    }
  }

  // --- Pictures: a name, and both axes of a chart.
  let charts = 0;
  for (const svg of document.querySelectorAll('svg')) {
    if (!shown(svg)) continue;
    if (svg.getAttribute('aria-hidden') === 'true') continue;
    const ids = (svg.getAttribute('aria-labelledby') || '').split(' ').filter(Boolean);
    const name = svg.getAttribute('aria-label') || ids.map((id) => (document.getElementById(id) || {}).textContent || '').join(' ');
    if (svg.getAttribute('role') !== 'img' || !name.trim()) fault('name', 'a picture has none: ' + svg.outerHTML);
    if (!svg.classList.contains('chart')) continue;
    ++charts;
    const title = svg.querySelector('title').textContent;
    const labels = [...svg.querySelectorAll('text.axis')].filter((text) => text.textContent.trim());
    const box = svg.getBoundingClientRect();
    if (!labels.some((text) => text.getBoundingClientRect().top > box.top + box.height * 0.7)) fault('axis', 'x of ' + title);
    if (!svg.classList.contains('scale') && !labels.some((text) => text.getBoundingClientRect().top < box.top + box.height * 0.3)) {
      fault('axis', 'y of ' + title);
    }
    const holder = svg.closest('figure, .card');
    if (!holder.querySelector('details table tbody tr')) fault('table', 'none of ' + title);
    if (parseFloat(getComputedStyle(svg.querySelector('text')).fontSize) * box.width / svg.viewBox.baseVal.width < 10) {
      fault('size', 'small print in ' + title);
    }
  }

  // --- For keyboards and screen readers.
  let level = 0;
  for (const heading of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) fault('heading', heading.tagName + ' "' + heading.textContent + '" after H' + level);
    level = own;
  }
  if (document.querySelectorAll('h1').length !== 1) fault('heading', 'there is not one H1');
  for (const landmark of ['header', 'nav', 'main', 'footer']) {
    if (document.querySelectorAll(landmark).length !== 1) fault('landmark', landmark);
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) fault('id', id + ' is there twice');
  for (const link of document.querySelectorAll('a')) {
    const target = link.getAttribute('href');
    if (!target.startsWith('#') || !document.getElementById(target.slice(1))) fault('link', target);
  }
  for (const scroll of document.querySelectorAll('.scroll')) {
    if (scroll.tabIndex !== 0 || !scroll.getAttribute('aria-label')) fault('keyboard', 'a table that cannot be scrolled to');
  }
  for (const table of document.querySelectorAll('table')) {
    if (!table.querySelector('th[scope]')) fault('table', 'without headers');
  }
  const skip = document.querySelector('a.skip');
  if (!skip || document.querySelector('a, button, summary, [tabindex="0"]') !== skip) fault('keyboard', 'the first stop is not the skip link');

  for (const entry of performance.getEntriesByType('resource')) fault('network', entry.name);

  const result = parent.document.createElement('pre');
  result.id = 'audit-result';
  result.textContent = JSON.stringify({
    width, dark: matchMedia('(prefers-color-scheme: dark)').matches, charts, texts: texts.length, least_contrast: least, faults,
  });
  parent.document.body.appendChild(result);
});

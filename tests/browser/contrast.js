// Every text that can be seen, as [contrast with what is behind it, text], worst first; without
// what is disabled. Contrast as WCAG 2.2 defines it.
() => {
  const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = brush.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (top, below) => below.map((part, i) => top[i] * top[3] + part * (1 - top[3]));
  const luminance = (rgb) => {
    const [red, green, blue] = rgb
      .map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const line = (element) => (element ? [...line(element.parentElement), element] : []);
  const contrast = (element) => {
    const styles = line(element).map((one) => getComputedStyle(one));
    const behind = styles.reduce((below, css) => over(rgba(css.backgroundColor), below), [255, 255, 255]);
    const ink = rgba(styles.at(-1).color);
    ink[3] *= styles.reduce((product, css) => product * css.opacity, 1);
    const [low, high] = [luminance(over(ink, behind)), luminance(behind)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const seen = { opacityProperty: true, visibilityProperty: true };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const text = texts.currentNode.textContent.trim();
    const off = element.closest("[disabled], [aria-disabled=true], script, style, noscript");
    if (text && !off && element.checkVisibility(seen)) found.push([contrast(element), text]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}

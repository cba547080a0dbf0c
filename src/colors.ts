// Styles of text on a terminal.

/** Styles that do nothing if `isTTY` is not true, or if NO_COLOR or TERM=dumb ask for that. */
export function colorsOf({ isTTY }: { isTTY?: boolean }) {
  const isColorSupported = isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb";
  const style = (start: number, end: number) => (text: string) =>
    isColorSupported ? `\x1b[${start}m${text}\x1b[${end}m` : text;
  return {
    isColorSupported,
    bold: style(1, 22),
    dim: style(2, 22),
    red: style(31, 39),
    green: style(32, 39),
    yellow: style(33, 39),
    bgBlack: style(40, 49),
    whiteBright: style(97, 39),
  };
}

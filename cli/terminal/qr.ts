// QR codes on a terminal.
import { renderUnicodeCompact } from "uqr";
import { colorsOf } from "../../src/colors.ts";

/** A QR code, two rows of it per line; white on black, because scanners need the right one of the two to be dark. */
export function layQr(text: string): string {
  const { bgBlack, whiteBright } = colorsOf(process.stdout);
  const lines = renderUnicodeCompact(text, { border: 2 }).split("\n");
  return lines.map((line) => bgBlack(whiteBright(line))).join("\n");
}

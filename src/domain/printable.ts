// Text that is safe to print on a terminal.

/** Replaces control and format characters, which could steer a terminal, by spaces. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, " ");
}

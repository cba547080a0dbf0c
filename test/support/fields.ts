// What the fields of a page's forms hold.
import { Parser } from "htmlparser2";

/** The values of all fields of this name, in the page's order. */
export function fieldValues(body: string, name: string): string[] {
  const values: string[] = [];
  const parser = new Parser({
    onopentag(_tag, attributes) {
      if (attributes["name"] === name) values.push(attributes["value"] ?? "");
    },
  });
  parser.end(body);
  return values;
}

/** The value of the first field of this name; "" if there is none. */
export const fieldValue = (body: string, name: string) => fieldValues(body, name)[0] ?? "";

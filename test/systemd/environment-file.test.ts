// Files of variables, as systemd reads them.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseEnvironmentFile, quoteValue } from "../../src/systemd/environment-file.ts";

test.each([
  ["A=1\nB=two words \n", { A: "1", B: "two words" }],
  ["# A=1\n; A=2\n\n  B = 3\n", { B: "3" }],
  ['A="a \\"b\\" \\$c \\d"\n', { A: 'a "b" $c \\d' }],
  ["A='a \"b\" \\n'\n", { A: 'a "b" \\n' }],
  ["A=one\\\ntwo\\ three\n", { A: "onetwo three" }],
  ['A="one\ntwo"\nB=3', { A: "one\ntwo", B: "3" }],
  ["A=\nexport B=1\nnonsense\nC=30 3 * * *\n", { A: "", C: "30 3 * * *" }],
  ["A=1\nA=2\n", { A: "2" }],
])("%j has the variables that systemd finds", (text, variables) => {
  expect(parseEnvironmentFile(text)).toEqual(variables);
});

test("every value that service install writes is read as it was", () => {
  const value = fc.string({ unit: "binary" }).filter((text) => !text.includes("\0"));
  fc.assert(fc.property(value, (text) => expect(parseEnvironmentFile(`A=${quoteValue(text)}\n`)).toEqual({ A: text })));
});

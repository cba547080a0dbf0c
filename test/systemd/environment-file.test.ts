// Files of variables, as systemd reads them.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseEnvironmentFile, quoteValue, setVariables } from "../../src/systemd/environment-file.ts";

test.each([
  ["A=1\nB=two words \n", { A: "1", B: "two words" }],
  ["# A=1\n; A=2\n\n  B = 3\n", { B: "3" }],
  ['A="a \\"b\\" \\$c \\d"\n', { A: 'a "b" $c \\d' }],
  ["A='a \"b\" \\n'\n", { A: 'a "b" \\n' }],
  ["A=one\\\ntwo\\ three\n", { A: "onetwo three" }],
  ['A="one\ntwo"\nB=3', { A: "one\ntwo", B: "3" }],
  ["A=\nexport B=1\nnonsense\nC=30 3 * * *\n", { A: "", C: "30 3 * * *" }],
  ["A=1\nA=2\n", { A: "2" }],
  ["A=it's\nB=2 # can't\nC=a\"b\"\n", { A: "it's", B: "2 # can't", C: 'a"b"' }],
  ["A=\"a\" 'b' c'd \n", { A: "abc'd" }],
  ['A="not closed\nB=2\n', { A: "not closed\nB=2\n" }],
  ['A=1\r\nB="2"\r\nC=3\\ \r\n', { A: "1", B: "2", C: "3 " }],
])("%j has the variables that systemd finds", (text, variables) => {
  expect(parseEnvironmentFile(text)).toEqual(variables);
});

test("every value that service install writes is read as it was", () => {
  const value = fc.string({ unit: "binary" }).filter((text) => !text.includes("\0"));
  fc.assert(fc.property(value, (text) => expect(parseEnvironmentFile(`A=${quoteValue(text)}\n`)).toEqual({ A: text })));
});

test.each([
  ["", 'A="new"\n'],
  ["# A file\nB=2\n", '# A file\nB=2\nA="new"\n'],
  ["B=2", 'B=2\nA="new"\n'],
  ["# A=1\n  A = 1\nB=2\nA=3\n", '# A=1\n  A = "new"\nB=2\nA="new"\n'],
  ['A="one\ntwo"\nB=2\n', 'A="new"\nB=2\n'],
  ["A=it's\nB=can't\n", 'A="new"\nB=can\'t\n'],
])("a variable that is set in %j keeps all the rest", (text, changed) => {
  expect(setVariables(text, { A: "new" })).toBe(changed);
});

test("what is set is what systemd finds, and other variables stay", () => {
  const value = fc.string({ unit: "binary" }).filter((text) => !text.includes("\0"));
  fc.assert(
    fc.property(value, value, (old, text) => {
      const changed = setVariables(`A=${quoteValue(old)}\nB=2\n`, { A: text, C: text });
      expect(parseEnvironmentFile(changed)).toEqual({ A: text, B: "2", C: text });
    }),
  );
});

// Variables in the drop-ins of a unit.
import { expect, test } from "bun:test";
import { SYSTEM_PLACE } from "../../src/config/service.ts";
import { parseEnvironment } from "../../src/systemd/drop-ins.ts";

test.each<[text: string, variables: Record<string, string>]>([
  [`Environment="A=one two" 'B=it "is"' C=three`, { A: "one two", B: 'it "is"', C: "three" }],
  ['Environment=A="one two"', { A: "one two" }],
  [String.raw`Environment=A=one\ two "B=a \"b\" c" C=\\`, { A: "one two", B: 'a "b" c', C: "\\" }],
  ["Environment=A=50%% B=a=b", { A: "50%", B: "a=b" }],
  ["Environment=A=1 \\\n  B=2", { A: "1", B: "2" }],
  ["Environment=A=1\nEnvironment=A=2 B=\n", { A: "2", B: "" }],
  ["Environment=A=1\nEnvironment=\nEnvironment=B=2", { B: "2" }],
  ["# Environment=A=1\nEnvironmentFile=/a\n[Service]\n  Environment = A=2", { A: "2" }],
  ["Environment=A", {}],
  ["#Environment=A=1 \\\nEnvironment=B=2", { B: "2" }],
  ["Environment=A=1 \\\n# one\n  ; two \\\n  B=2", { A: "1", B: "2" }],
  ["Environment=A=%S/podkeep/a 'B=%h/b' C=100%%S D=%i", { A: "/var/lib/podkeep/a", B: "/root/b", C: "100%S", D: "%i" }],
])("%j sets what systemd reads in it", (text, variables) => {
  expect(parseEnvironment(text, SYSTEM_PLACE.specifiers).variables).toEqual(variables);
});

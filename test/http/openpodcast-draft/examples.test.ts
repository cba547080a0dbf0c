// The examples in docs/open-podcast-draft.md, run as its readers run them.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { install, type Server, track } from "../../support/start-server.ts";

const text = await Bun.file(join(import.meta.dirname, "../../../docs/open-podcast-draft.md")).text();
const blocks = [...text.matchAll(/^```(sh|text)\n([\s\S]*?)^```$/gm)].map(([, kind = "", body = ""]) => ({
  kind,
  body,
}));
const setup = blocks.find(({ body }) => body.includes("show()"))?.body ?? "";
const examples = blocks.flatMap(({ kind, body }, index) => {
  const expected = blocks[index + 1];
  return kind === "sh" && expected?.kind === "text" ? [{ body, expected: expected.body }] : [];
});

let server: Server;
let token: string;
beforeAll(async () => {
  const podkeep = install();
  token = await podkeep.user("ann");
  server = await podkeep.serve({ PODKEEP_OPEN_PODCAST_DRAFT: "on" });
});
afterAll(() => server?.end("SIGKILL"));

test("there is an example for each scenario", () => {
  expect(examples.length).toBe((text.match(/^### \d/gm)?.length ?? 0) + 1);
  expect(examples.length).toBeGreaterThan(10);
});

test.each(examples.map(({ body, expected }, index) => [index + 1, body, expected] as const))(
  "example %i gives what the document says",
  async (_, body, expected) => {
    const env = { PATH: process.env["PATH"], URL: server.url, TOKEN: token };
    const child = track(Bun.spawn(["bash", "-c", `${setup}\n${body}`], { env, stdout: "pipe", stderr: "pipe" }));
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    expect(stderr).toBe("");
    const printed = stdout.trimEnd().split("\n");
    const lines = expected.trimEnd().split("\n");
    // An ellipsis stands for a time that is another one in each run.
    expect(printed.map((line, index) => (lines[index]?.endsWith("…") ? line.replace(/: .*/, ": …") : line))).toEqual(
      lines,
    );
  },
);

// The API reference at /docs.
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { openTestApp, type TestApp } from "../../support/app.ts";
import { PATIENCE } from "../../support/patience.ts";
import { openProgram } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

const podkeep = openProgram();
afterAll(() => podkeep.close());

let server: TestApp;
beforeEach(async () => {
  server = await openTestApp();
});
afterEach(() => server.close());

test("every operation and every schema of openapi.json is in the reference, without signing in", async () => {
  const { body: document } = await server.send("GET", "/openapi.json");
  const { status, body } = await server.send("GET", "/docs");
  expect(status).toBe(200);
  for (const [path, methods] of Object.entries<Record<string, { operationId: string }>>(document.paths)) {
    for (const [method, { operationId }] of Object.entries(methods)) {
      expect(body).toContain(`id="${operationId}"`);
      expect(body).toContain(`${method.toUpperCase()} ${path}`);
    }
  }
  for (const name of Object.keys(document.components.schemas)) expect(body).toContain(`id="schema-${name}"`);
});

test("the reference says where the other protocols are described", async () => {
  const { body } = await server.send("GET", "/docs");
  const { code, out } = await podkeep.run(["help", "gpodder"]);
  expect(body).toContain("<code>podkeep help gpodder</code>");
  expect([code, out]).toEqual([0, expect.stringContaining("/index.php/login/v2")]);
});

test("field names in texts are shown as code, without backticks", async () => {
  const { body } = await server.send("GET", "/docs");
  expect(body).not.toContain("`");
  expect(body).toContain("Follow <code>next</code> until");
});

test("each operation's status codes stand below a heading", async () => {
  const { body } = await server.send("GET", "/docs");
  const sections = body.split("<h2 id=").slice(1, -1);
  expect(sections.length).toBeGreaterThan(5);
  for (const section of sections) expect(section).toMatch(/<h3>Responses<\/h3><details/);
});

test("every link of the reference leads somewhere", async () => {
  const { body } = await server.send("GET", "/docs");
  for (const [, id] of body.matchAll(/href="#([^"]+)"/g)) expect(body).toContain(`id="${id}"`);
  expect(body).not.toMatch(/(src|href)="https?:/);
});

test("the reference is small", async () => {
  expect((await server.send("GET", "/docs")).body.length).toBeLessThan(100_000);
});

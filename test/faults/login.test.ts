// Logins with input of every kind: no error of the server, nothing for strangers, and no secret in the log.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { PATIENCE } from "../support/patience.ts";
import { install, type Server } from "../support/start-server.ts";
import { checkRounds, countRounds, report } from "./rounds.ts";

setDefaultTimeout(PATIENCE);

/** Requests of a round. */
const REQUESTS = 300;
const ROUNDS = countRounds(1, 10);

let server: Server;
let password: string;
beforeAll(async () => {
  const podkeep = install();
  const { stdout } = await podkeep.run(["user", "create", "ann", "--generate", "--json"]);
  password = JSON.parse(stdout).password;
  server = await podkeep.serve();
});
afterAll(() => server?.end("SIGKILL"));

const FORM = { "Content-Type": "application/x-www-form-urlencoded" };
const START = "/index.php/login/v2";

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom("ann", "ANN", "podkeep_", "\0", "token", "%00", "=", "&", "'", "a".repeat(3000)),
);
const anyBody = fc.oneof(
  anyText,
  fc.uint8Array({ maxLength: 200 }),
  fc.json(),
  anyText.map((token) => JSON.stringify({ token })),
  fc
    .dictionary(fc.constantFrom("name", "password", "token", "x"), anyText)
    .map((form) => new URLSearchParams(form).toString()),
);
const anyHeaders = fc.dictionary(
  fc.constantFrom("Authorization", "Cookie", "Content-Type", "User-Agent", "Origin", "Accept"),
  fc.stringMatching(/^[!-~]{1,30}( [!-~]{1,60})?$/),
);
/** `flow` stands for the page of a flow that has started. */
const anyPath = fc.oneof(
  fc.constantFrom(START, `${START}/poll`, "flow", "/login/v2", "/login/v2/poll", "/allow", "/index.php/x"),
  anyText.map((text) => `/allow/${encodeURIComponent(text.toWellFormed())}`),
);
const anyMethod = fc.constantFrom("GET", "POST", "POST", "POST", "HEAD", "PUT", "DELETE", "OPTIONS");

test(
  "random requests to the login flow are answered below 500, and give nothing away",
  async () => {
    const flow = (await server.send("POST", START, "", { "User-Agent": "AntennaPod/3.5" })).body;
    const page = new URL(flow.login).pathname;
    const statuses: Record<string, number> = {};
    const property = fc.asyncProperty(anyMethod, anyPath, anyBody, anyHeaders, async (method, path, body, headers) => {
      const sent = ["GET", "HEAD"].includes(method) ? undefined : body;
      const answer = await server.send(method, path === "flow" ? page : path, sent, { ...FORM, ...headers });
      expect(answer.status).toBeLessThan(500);
      expect(JSON.stringify(answer.body)).not.toContain("appPassword");
      expect(answer.headers.getSetCookie()).toEqual([]);
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    });
    const requests = await checkRounds(property, REQUESTS, ROUNDS);

    const poll = `token=${flow.poll.token}`;
    expect((await server.send("POST", `${START}/poll`, poll, FORM)).status).toBe(404);
    const form = new URLSearchParams({ name: "ann", password, next: page }).toString();
    const sent = { method: "POST", headers: FORM, body: form, redirect: "manual" } as const;
    const signedIn = await fetch(`${server.url}/sign-in`, sent);
    expect(signedIn.headers.get("location")).toBe(`/sign-in?${new URLSearchParams({ next: page, done: "1" })}`);
    const Cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    expect((await server.send("POST", page, "", { ...FORM, Cookie })).status).toBe(200);
    const { body } = await server.send("POST", `${START}/poll`, poll, FORM);
    const log = server.log();
    expect(log).not.toContain('"level":"error"');
    for (const secret of [password, page.split("/").at(-1), flow.poll.token, body.appPassword]) {
      expect(log).not.toContain(secret);
    }
    report("login fuzz", { requests, ...statuses });
    // Input that is always refused would prove nothing.
    for (const status of [200, 403, 404]) expect(statuses[status]).toBeGreaterThan(0);
  },
  PATIENCE + ROUNDS.most * REQUESTS * 100,
);

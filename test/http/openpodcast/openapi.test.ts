// /openapi.json: complete, reviewed, and true of real responses.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import Ajv2020 from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { z } from "zod";
import { inlineParts } from "../../../src/http/web/api-document.ts";
import { silentLogger } from "../../../src/log.ts";
import { type Answer, guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";

const Media = z.looseObject({ schema: z.unknown(), example: z.unknown().optional(), examples: z.unknown().optional() });
const Body = z.looseObject({
  content: z.record(z.string(), Media).optional(),
  headers: z.record(z.string(), z.unknown()).default({}),
});
const Parameter = z.looseObject({ name: z.string(), in: z.string(), description: z.string() });
const Document = z.looseObject({
  openapi: z.string(),
  components: z.looseObject({ schemas: z.record(z.string(), z.looseObject({ example: z.unknown().optional() })) }),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        operationId: z.string(),
        summary: z.string(),
        description: z.string(),
        tags: z.tuple([z.literal("Subscriptions")]),
        parameters: z.array(Parameter).default([]),
        security: z.array(z.unknown()),
        requestBody: Body.optional(),
        responses: z.record(z.string(), Body),
      }),
    ),
  ),
});

let server: TestApp;
let user: TestUser;
let document: z.infer<typeof Document>;
let served: Answer["body"];

beforeEach(async () => {
  server = await openTestApp({ failed_logins: "1", max_items: "2" }, { log: silentLogger });
  user = await server.user();
  served = (await server.send("GET", "/openapi.json")).body;
  document = Document.parse(inlineParts(served));
});
afterEach(() => server.close());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );

/** Of the document, which is the same in each test. */
let validator: Ajv2020 | undefined;

function createValidator(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  // Feed URLs can have spaces and names in any script, which the RFC's grammar lacks.
  ajv.addFormat("url", { type: "string", validate: (text: string) => URL.canParse(text) });
  ajv.addSchema(document, "document");
  return ajv;
}

function expectValid(pointer: string, value: unknown) {
  validator ??= createValidator();
  const validate = validator.compile({ $ref: `document#${pointer}` });
  validate(value);
  expect(validate.errors ?? []).toEqual([]);
}

const escaped = (key: string) =>
  key.replaceAll("~", "~0").replaceAll("/", "~1").replaceAll("{", "%7B").replaceAll("}", "%7D");

/** The response has a status that the operation declares, with its headers and a body of its schema. */
function expectDescribed(path: string, method: string, answer: Answer) {
  const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
  expect(Object.keys(responses)).toContain(String(answer.status));
  for (const name in responses[answer.status]?.headers)
    expect([name, answer.headers.get(name)]).not.toEqual([name, null]);
  if (!responses[answer.status]?.content) return expect(answer.body).toBe("");
  expect(answer.headers.get("content-type")).toStartWith("application/json");
  const pointer = `/paths/${escaped(path)}/${method.toLowerCase()}/responses/${answer.status}/content/application~1json/schema`;
  expectValid(pointer, answer.body);
}

test("the document is the reviewed one", () => {
  const { info: _, ...rest } = served;
  expect(rest).toMatchSnapshot();
});

test("is served at both prefixes, without credentials", async () => {
  expect((await server.send("GET", "/v1/openapi.json")).body).toEqual(served);
  expect(document.openapi).toBe("3.1.0");
});

test("names each operation once, and all its errors", () => {
  const errors = Object.fromEntries(
    operations().map(({ operation }) => [
      operation.operationId,
      Object.keys(operation.responses)
        .filter((status) => Number(status) >= 400)
        .map(Number),
    ]),
  );
  expect(errors).toEqual({
    getSubscriptions: [401, 405, 429, 500, 503],
    addSubscription: [401, 405, 413, 429, 500, 503],
    getSubscription: [401, 404, 405, 410, 429, 500, 503],
    updateSubscription: [401, 404, 405, 413, 429, 500, 503],
    deleteSubscription: [401, 404, 405, 429, 500, 503],
    getDeletions: [401, 404, 405, 429, 500, 503],
  });
});

test("has the names of the published document; ErrorBody is Error there, which hides JavaScript's own", () => {
  expect(operations().map(({ operation }) => operation.operationId)).toEqual([
    "getSubscriptions",
    "addSubscription",
    "getSubscription",
    "updateSubscription",
    "deleteSubscription",
    "getDeletions",
  ]);
  const published = ["Deletion", "FailedSubscription", "FeedArray", "NewSubscription", "NewSubscriptions"];
  published.push("PatchedSubscription", "Subscription", "SubscriptionUpdate", "Subscriptions", "Success");
  expect(Object.keys(document.components.schemas).sort()).toEqual([...published, "ErrorBody", "Feed"].sort());
});

test("says which headers responses have, and that reads take If-None-Match", () => {
  for (const { method, operation } of operations()) {
    const headers = (status: number) => Object.keys(operation.responses[status]?.headers ?? {});
    expect([headers(401), headers(405)]).toEqual([["WWW-Authenticate"], ["Allow"]]);
    expect([headers(429), headers(503)]).toEqual([["Retry-After"], ["Retry-After"]]);
    const conditional = operation.parameters.some(({ name }) => name === "If-None-Match");
    expect([conditional, headers(200), headers(304)]).toEqual(
      method === "GET" ? [true, ["ETag"], ["ETag"]] : [false, [], []],
    );
  }
});

test("has an example for every body, and each example is valid", () => {
  const schemas = Object.entries(document.components.schemas);
  expect(schemas.length).toBeGreaterThan(8);
  for (const [name, { example }] of schemas) {
    expect(example, name).toBeDefined();
    expectValid(`/components/schemas/${name}`, example);
  }
});

describe("is true of real responses", () => {
  const FEED = "https://bücher.example/a b?key=1";
  const one = (n: number) => `/subscriptions/${guidOf(n)}`;

  test("of every operation", async () => {
    const list = "/subscriptions";
    const item = "/subscriptions/{guid}";
    const steps: [string, string, string, unknown, number][] = [
      ["POST", list, list, { subscriptions: [{ feed_url: FEED, guid: guidOf(1) }, { feed_url: "x" }] }, 200],
      [
        "POST",
        list,
        list,
        { subscriptions: [{ feed_url: "https://b.example/" }, { feed_url: "https://c.example/" }] },
        200,
      ],
      ["POST", list, list, { subscriptions: [{ feed_url: 1 }] }, 405],
      ["POST", list, list, { subscriptions: Array(3).fill({ feed_url: FEED }) }, 413],
      ["GET", list, `${list}?per_page=1`, undefined, 200],
      ["GET", list, `${list}?per_page=1&page=2`, undefined, 200],
      ["GET", list, `${list}?page=x`, undefined, 405],
      ["GET", item, one(1), undefined, 200],
      ["GET", item, one(9), undefined, 404],
      ["GET", item, "/subscriptions/x", undefined, 405],
      ["PATCH", item, one(1), { new_guid: guidOf(2), is_subscribed: false, new_feed_url: "https://d.example/" }, 200],
      ["PATCH", item, one(2), {}, 200],
      ["PATCH", item, one(9), {}, 404],
      ["PATCH", item, one(2), { is_subscribed: 1 }, 405],
      ["GET", item, one(1), undefined, 200],
      ["DELETE", item, one(2), undefined, 202],
      ["DELETE", item, one(9), undefined, 404],
      ["DELETE", item, "/subscriptions/x", undefined, 405],
      ["GET", "/deletions/{id}", "/deletions/1", undefined, 200],
      ["GET", "/deletions/{id}", "/deletions/2", undefined, 404],
      ["GET", "/deletions/{id}", "/deletions/x", undefined, 405],
    ];
    for (const [method, path, address, body, status] of steps) {
      const answer = await user.request(method, address, body);
      expect([method, address, answer.status]).toEqual([method, address, status]);
      expectDescribed(path, method, answer);
    }
    await server.drain();
    expectDescribed(item, "GET", await user.request("GET", one(1)));
    expectDescribed(list, "GET", await user.request("GET", list));
    expectDescribed("/deletions/{id}", "GET", await user.request("GET", "/deletions/1"));
    const unchanged = await user.request("GET", list, undefined, { "If-None-Match": "*" });
    expectDescribed(list, "GET", unchanged);
  });

  test("of every operation without credentials, after too many wrong tokens, and with a broken database", async () => {
    await server.sql("alter table guids rename to gone");
    await server.sql("alter table deletions rename to lost");
    await server.sql("alter table subscriptions rename to missing");
    const bodies: Record<string, unknown> = { POST: { subscriptions: [{ feed_url: FEED }] }, PATCH: {} };
    for (const { path, method } of operations()) {
      const address = path.replace("{guid}", guidOf(1)).replace("{id}", "1");
      const failed = await server.send(method, address);
      expect(failed.status).toBe(401);
      expectDescribed(path, method, failed);
      const broken = await user.request(method, address, bodies[method]);
      expect(broken.status).toBe(500);
      expectDescribed(path, method, broken);
      const wrong = { address: "192.0.2.1", headers: { Authorization: "Bearer never-issued" } };
      await server.send(method, address, wrong);
      const limited = await server.send(method, address, wrong);
      expect(limited.status).toBe(429);
      expectDescribed(path, method, limited);
    }
  });
});

// Every operation with input of every kind: responses fit the contract, and users are isolated (P8).
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import Ajv from "ajv/dist/2020";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { ErrorBody } from "../../src/http/openpodcast/schemas/common.ts";
import { PATIENCE } from "../support/patience.ts";
import { type Answer, install, type Server } from "../support/start-server.ts";
import { Document, type FuzzRequest, operationsOf, requestsTo } from "./arbitraries.ts";
import { checkRounds, countRounds, report } from "./rounds.ts";

setDefaultTimeout(PATIENCE);

/** Histories of a round. */
const HISTORIES = 60;
const ROUNDS = countRounds(1, 14);
const PUBLISHED: Record<number, string> = {
  401: "User not authorized",
  404: "Resource not found",
  405: "Input could not be validated",
  410: "Subscription has been deleted",
  413: "Request body is too large",
};

let server: Server;
const users = { ann: "", bob: "" };
beforeAll(async () => {
  const podkeep = install();
  for (const name of ["ann", "bob"] as const) users[name] = await podkeep.user(name);
  server = await podkeep.serve();
});
afterAll(() => server?.end("SIGKILL"));

type User = keyof typeof users;

test(
  "every response to any request fits the contract and holds only the user's own podcasts",
  async () => {
    const document = Document.parse((await server.request("", "GET", "/openapi.json")).body);
    const check = createCheck(document);
    const statuses: Record<string, number> = {};
    const requests = fc.oneof(...operationsOf(document).map((operation) => requestsTo(operation, document)));
    const anyHistory = fc.array(requests, { minLength: 1, maxLength: 40, size: "max" });
    const property = fc.asyncProperty(fc.constantFrom<User[]>("ann", "bob"), anyHistory, async (user, history) => {
      const other = user === "ann" ? "bob" : "ann";
      const before = await everything(other);
      for (const request of history) {
        const answer = await send(user, request);
        check(request, answer);
        expect(JSON.stringify(answer.body).toLowerCase()).not.toContain(`${other}.test`);
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      }
      expect(await everything(other)).toEqual(before);
    });
    const histories = await checkRounds(property, HISTORIES, ROUNDS);
    expect(server.log()).not.toContain('"level":"error"');
    const cases = Object.values(statuses).reduce((sum, count) => sum + count, 0);
    report("fuzz", { histories, cases, ...statuses });
    // Input that is always refused would prove nothing.
    for (const status of [200, 202, 404, 405]) expect(statuses[status]).toBeGreaterThan(0);
  },
  PATIENCE + ROUNDS.most * HISTORIES * 1000,
);

function send(user: User, { method, path, body, headers }: FuzzRequest): Promise<Answer> {
  const own = typeof body === "string" ? body.replaceAll("OWNER", user).replaceAll("Owner", user) : body;
  return server.send(method, path, own, { Authorization: `Bearer ${users[user]}`, ...headers });
}

/** The first deletion that may still be pending. */
const unsettled = { ann: 1, bob: 1 };

// All of the user's data, when no deletion is pending.
async function everything(user: User): Promise<unknown> {
  for (;;) {
    const { status, body } = await server.request(users[user], "GET", `/deletions/${unsettled[user]}`);
    if (status === 404) break;
    if (body.status !== "PENDING") unsettled[user]++;
  }
  return (await server.request(users[user], "GET", "/subscriptions?per_page=500")).body;
}

/** Bytes of a request's first line and headers that Bun.serve takes, less those that fetch adds. */
const LARGEST_HEAD = 15_000;

/** Bytes of a request's path and headers, as fetch encodes them. */
const headOf = ({ path, headers }: FuzzRequest) =>
  new URL(path, "http://a.test").href.length + Object.entries(headers ?? {}).join().length;

function createCheck(document: Document) {
  const operations = new Map(operationsOf(document).map((operation) => [operation.operationId, operation]));
  const ajv = addFormats(new Ajv({ strict: false }));
  // As browsers and podcast apps read URLs, with blanks and umlauts.
  ajv.addFormat("url", (text) => URL.canParse(text));
  ajv.addSchema({ $id: "podkeep", ...document });
  return (request: FuzzRequest, { status, body, headers }: Answer) => {
    const { to } = request;
    // Bun.serve refuses a longer one before the app sees it.
    if (status === 431) return expect(headOf(request)).toBeGreaterThan(LARGEST_HEAD);
    const operation = operations.get(to)!;
    const described = operation.responses[status];
    expect({ to, status, body, described: described !== undefined }).toMatchObject({
      described: true,
    });
    if (status === 304) return expect(body).toBe("");
    if (status >= 400) {
      const { code, message } = ErrorBody().parse(body);
      expect(code).toBe(String(status));
      expect(message).toBe(PUBLISHED[status] ?? "a published message");
      expect(headers.get("Content-Type")).toStartWith("application/json");
    }
    const place = `${operation.path.replaceAll("/", "~1").replaceAll("{", "%7B").replaceAll("}", "%7D")}/${operation.method}`;
    const schema = `podkeep#/paths/${place}/responses/${status}/content/application~1json/schema`;
    ajv.validate({ $ref: schema }, body);
    expect(ajv.errors).toBeNull();
  };
}

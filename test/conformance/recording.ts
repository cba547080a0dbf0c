// A run against the server as it is: what it found, and which checks a broken variant can change at all.
import { readAccount } from "../../src/conformance/account.ts";
import type { Protocol } from "../../src/conformance/check.ts";
import { isOf, type Result, type Run, runChecks } from "../../src/conformance/suite.ts";
import { basicAuth } from "../support/basic-auth.ts";
import type { Broken } from "./changes.ts";
import { openTarget } from "./target.ts";

interface Recorded {
  check: string;
  request: Request;
  response: Response;
}
export interface Recording {
  run: Run;
  /** Subscriptions in the account afterwards. */
  left: number | null;
  exchanges: Recorded[];
  /** How many minutes it was said to take, if they are many. */
  told: number[];
  /** How requests sign in with the account's second password. */
  second: string;
}

const recordings = new Map<Protocol, Promise<Recording>>();

/** Runs every check of a protocol, once in a test run. */
export function recordChecks(protocol: Protocol): Promise<Recording> {
  const known = recordings.get(protocol) ?? record(protocol);
  recordings.set(protocol, known);
  return known;
}

async function record(protocol: Protocol): Promise<Recording> {
  const exchanges: Recorded[] = [];
  const { target, close } = await openTarget((send) => async (request) => {
    const kept = request.clone() as Request;
    const response = await send(request);
    exchanges.push({ check: "", request: kept, response: response.clone() as Response });
    return response;
  });
  let named = 0;
  const told: number[] = [];
  const name = ({ check: { id } }: Result) => {
    for (; named < exchanges.length; named++) Object.assign(exchanges[named] ?? {}, { check: id });
  };
  const run = await runChecks(target, isOf([protocol]), name, (minutes) => told.push(minutes));
  const { subscriptions: left } = await readAccount(target, protocol);
  await close();
  const second = basicAuth(target.user ?? "", target.second_password ?? "").Authorization;
  return { run, left, exchanges: exchanges.slice(0, named), told, second };
}

/** What is told apart of a message; of a recorded one it is found once. */
async function describe(message: Request | Response): Promise<string> {
  const headers = [...message.headers].filter(([name]) => name !== "content-length");
  const start = message instanceof Request ? [message.method, message.url] : [message.status];
  return JSON.stringify([...start, headers, await (message.clone() as Response).text()]);
}

const described = new WeakMap<Request | Response, Promise<string>>();

function describeOnce(recorded: Request | Response): Promise<string> {
  const known = described.get(recorded) ?? describe(recorded);
  described.set(recorded, known);
  return known;
}

/**
 * Finds the checks whose requests or responses a variant changes, by playing the recorded ones through it. To every
 * other check it is the server as it is.
 */
export async function findChanged(change: Broken["change"], exchanges: Recorded[]): Promise<Set<string>> {
  const changed = new Set<string>();
  let [present, given] = [exchanges[0], new Response()];
  const send = change(async (received) => {
    if (!present) throw new Error("No request was recorded");
    const { check, request, response } = present;
    if (!changed.has(check) && (await describe(received)) !== (await describeOnce(request))) changed.add(check);
    given = response.clone() as Response;
    return given;
  });
  for (const recorded of exchanges) {
    const { check, request, response } = recorded;
    present = recorded;
    const answer = await send(request.clone() as Request);
    if (changed.has(check) || answer === given) continue;
    if ((await describe(answer)) !== (await describeOnce(response))) changed.add(check);
  }
  return changed;
}

// Tokens, passwords and sessions between backups that are restored in any order: what ended never signs in again.
import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { createSession, readSession, signOutEverywhere } from "../../src/services/accounts/sessions.ts";
import { signIn } from "../../src/services/accounts/sign-in.ts";
import { authenticate, revokeToken } from "../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { openTestApp, type TestApp, type TestUser } from "../support/app.ts";
import { UNLIMITED } from "../support/attempts.ts";
import { PATIENCE } from "../support/patience.ts";
import { backupsOf } from "./backups.ts";

setDefaultTimeout(PATIENCE);

let podkeep: TestApp;
let ann: TestUser;
const { backup, restore } = backupsOf(() => ({ podkeep, ann }));

/** Backups and restores most often: what a restore forgets shows after another one. */
const act = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("back up", "restore") },
  { weight: 2, arbitrary: fc.constantFrom("issue", "revoke") },
  { weight: 1, arbitrary: fc.constantFrom("set a password", "sign in", "sign out everywhere") },
);
/** `which` of the tokens or backups, from the last one. */
const step = fc.record({ act, which: fc.nat(2), hours: fc.constantFrom(-30, 0, 1) });
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** What signs ann in. */
interface Credential {
  what: string;
  hasEnded: boolean;
  use(): Promise<unknown>;
}

const isGood = ({ use }: Credential) =>
  use().then(
    () => true,
    () => false,
  );

async function play(steps: Step[]): Promise<void> {
  const tokens: (Credential & { id: string })[] = [];
  const passwords: Credential[] = [];
  const sessions: Credential[] = [];
  const backups: string[] = [];
  const end = (credentials: Credential[]) => {
    for (const one of credentials) one.hasEnded = true;
  };
  const acts: Record<Step["act"], (which: number) => Promise<void>> = {
    async issue() {
      const { token } = await ann.another();
      const id = token.split("_")[1] ?? "";
      tokens.push({ what: `token ${id}`, id, hasEnded: false, use: () => authenticate(podkeep.app, token) });
    },
    async revoke(which) {
      const token = tokens.at(-1 - which);
      // Not one that a restore took away.
      if (!token || !(await isGood(token))) return;
      await revokeToken(podkeep.app, token.id);
      end([token]);
    },
    async "set a password"() {
      const password = `the password ${passwords.length}`;
      await ann.setPassword(password);
      end([...passwords, ...sessions]);
      const use = () => signIn(podkeep.app, { name: "ann", password, app: null }, UNLIMITED);
      passwords.push({ what: password, hasEnded: false, use });
    },
    async "sign in"() {
      const { text } = await createSession(podkeep.app, actAsUser(ann.id), "app");
      const use = () => readSession(podkeep.app, text, "app");
      sessions.push({ what: `session ${sessions.length}`, hasEnded: false, use });
    },
    async "sign out everywhere"() {
      await signOutEverywhere(podkeep.app, actAsUser(ann.id));
      end(sessions);
    },
    async "back up"() {
      backups.push((await backup()).file);
    },
    async restore(which) {
      const file = backups.at(-1 - which);
      if (!file) return;
      await restore(file);
      end(sessions);
    },
  };
  for (const { act, which, hours } of steps) {
    podkeep.clock.advance(hours * 3_600_000 + 60_000);
    await acts[act](which);
    const good: string[] = [];
    for (const one of [...tokens, ...passwords, ...sessions]) {
      if (one.hasEnded && (await isGood(one))) good.push(one.what);
    }
    expect({ act, good }).toEqual({ act, good: [] });
  }
}

test("tokens, passwords and sessions that ended never sign in again, whichever backups are restored in whatever order", async () => {
  const numRuns = Math.ceil(Number(process.env["PODKEEP_MODEL_RUNS"] ?? 100) / 4);
  const steps = fc.array(step, { minLength: 6, maxLength: 20, size: "max" });
  await fc.assert(
    fc.asyncProperty(steps, async (one) => {
      podkeep = await openTestApp();
      ann = await podkeep.user("ann");
      await play(one).finally(() => podkeep.close());
    }),
    { numRuns },
  );
});

// Finding mass removals in long histories.
import { expect, test } from "bun:test";
import { type AttributedChange, findMassRemovals } from "../../src/domain/mass-removals.ts";

const MINUTE = 60_000;

test("the work grows with the number of removals, not with its square", () => {
  let reads = 0;
  const removals = 4000;
  const changes = Array.from({ length: removals }, (_, n): AttributedChange => {
    const change = { changed_at: n, at: n, what: "unsubscribed", before: "subscribed", actor: "app" } as const;
    return Object.defineProperty({ ...change, subscription: n }, "subscription", {
      get: () => {
        reads++;
        return n;
      },
    });
  });
  const [found] = findMassRemovals(changes, 3000);
  expect(found).toMatchObject({ from: 0, to: { at: removals - 1 }, of: 7000 });
  expect(found?.removed.size).toBe(removals);
  expect(reads).toBeLessThan(10 * removals);
});

test("removals count for an hour, also if the clock was set back", () => {
  const at = (minutes: number[], subscribed: number) =>
    findMassRemovals(
      minutes.map((minute, n) => ({
        changed_at: n,
        subscription: n,
        what: "unsubscribed",
        before: "subscribed",
        actor: "app",
        at: minute * MINUTE,
      })) as AttributedChange[],
      subscribed,
    ).map(({ removed, of }) => [removed.size, of]);
  expect(at([0, 10, 20, 30, 40, 50], 4)).toEqual([[6, 10]]);
  expect(at([0, 61, 62, 63, 64, 65], 4)).toEqual([]);
  expect(at([0, 61, 62, 63, 64, 65, 66], 4)).toEqual([[6, 10]]);
  expect(at([70, 0, 10, 20, 30, 40], 4)).toEqual([[6, 10]]);
  expect(at([70, 0, 65, 66, 67, 68], 4)).toEqual([]);
  expect(at([0, 40, 80, 120, 160, 200, 240], 5)).toEqual([]);
  expect(at([0, 50, 61, 113, 115, 117, 119, 121], 6)).toEqual([]);
});

test("what an app removes within an hour of a mass removal belongs to it, what it removes days later does not", () => {
  const changes = [0, 1, 2, 3, 4, 5, 6, 7, 60, 3 * 24 * 60].map((minute, n): AttributedChange => {
    return {
      changed_at: n,
      at: minute * MINUTE,
      subscription: n,
      what: "unsubscribed",
      before: "subscribed",
      actor: "app",
    };
  });
  const [found, ...others] = findMassRemovals(changes, 2);
  expect(others).toEqual([]);
  expect(found).toMatchObject({ of: 12, noticed_at: 6, to: { changed_at: 8 } });
  expect([...(found?.removed ?? [])]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test("of a list to which podcasts come while an app removes all, no more are removed than there were", () => {
  const change = (n: number, what: "added" | "unsubscribed", actor: string, at: number): AttributedChange => {
    return { changed_at: at, at, subscription: n, what, before: what === "added" ? null : "subscribed", actor };
  };
  const numbers = Array.from({ length: 15 }, (_, n) => n);
  const first = numbers.slice(0, 12).map((n) => change(n, "unsubscribed", "app", n));
  const added = numbers.slice(12).map((n) => change(n, "added", "page", 100 + n));
  const then = numbers.slice(12).map((n) => change(n, "unsubscribed", "app", 200 + n));
  const [found] = findMassRemovals([...first, ...added, ...then], 0);
  expect([found?.removed.size, found?.of]).toEqual([15, 15]);
});

test("podcasts that a restored backup lacks are not counted as what an app left on the list", () => {
  const change = (n: number, what: "lost" | "unsubscribed", actor: string): AttributedChange => {
    return { changed_at: n, at: n * MINUTE, subscription: n, what, before: "subscribed", actor };
  };
  const lost = Array.from({ length: 10 }, (_, n) => change(n, "lost", "admin"));
  const removed = [10, 11, 12, 13, 14, 15].map((n) => change(n, "unsubscribed", "app"));
  expect(findMassRemovals([...lost, ...removed], 4)).toMatchObject([{ of: 10 }]);
  expect(findMassRemovals([...removed, ...lost], 4)).toEqual([]);
});

test("podcasts that were merged while an app removed others count in how many there were before", () => {
  const change = (n: number, what: "merged" | "unsubscribed", actor: string): AttributedChange => {
    return { changed_at: n, at: n * MINUTE, subscription: n, what, before: "subscribed", actor };
  };
  const changes = Array.from({ length: 9 }, (_, n) =>
    n === 3 || n === 4 ? change(n, "merged", "page") : change(n, "unsubscribed", "app"),
  );
  expect(findMassRemovals(changes, 3)).toMatchObject([{ of: 12, noticed_at: 8 }]);
});

test("what the user adds back, moves, or deletes for good while an app removes podcasts leaves it right how many there were", () => {
  const removal = { what: "unsubscribed", before: "subscribed", actor: "app" } as const;
  const changes: Pick<AttributedChange, "what" | "before" | "actor">[] = [
    ...Array(5).fill(removal),
    { what: "subscribed", before: "unsubscribed", actor: "page" },
    { what: "moved", before: "subscribed", actor: "page" },
    { what: "deleted", before: "unsubscribed", actor: "page" },
    ...Array(3).fill(removal),
  ];
  const at = changes.map((change, n): AttributedChange => ({ ...change, changed_at: n, at: n, subscription: n }));
  expect(findMassRemovals(at, 5)).toMatchObject([{ of: 12, noticed_at: 9 }]);
});

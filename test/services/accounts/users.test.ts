// Users and their ids.
import { expect, test } from "bun:test";
import { revokeToken } from "../../../src/services/accounts/tokens.ts";
import { deleteUser } from "../../../src/services/accounts/user-deletion.ts";
import { createUser, findUserName, listUsers, renameUser } from "../../../src/services/accounts/users.ts";
import { actAsAdmin } from "../../../src/services/actor.ts";
import { openTestApp } from "../../support/app.ts";
import { rejectionOf, settle } from "../../support/rejection.ts";

test("a user whose id would be another user's gets another one", async () => {
  const podkeep = await openTestApp();
  const drawn = ["aaaaaa", "aaaaaa", "bbbbbb"];
  const context = { ...podkeep.app, ids: { random: () => drawn.shift() ?? "" } };
  expect((await createUser(context, "ann")).public_id).toBe("aaaaaa");
  expect((await createUser(context, "bob")).public_id).toBe("bbbbbb");
  await podkeep.close();
});

test("the number of a deleted user is not given again", async () => {
  const podkeep = await openTestApp();
  const { id } = await createUser(podkeep.app, "ann");
  await deleteUser(podkeep.app, "ann");
  expect((await createUser(podkeep.app, "bob")).id).not.toBe(id);
  await podkeep.close();
});

test("the composed and the decomposed form of a name are one user", async () => {
  const podkeep = await openTestApp();
  const [composed = "", decomposed = ""] = ["NFC", "NFD"].map((form) => "Jürgen".normalize(form));
  expect((await createUser(podkeep.app, decomposed)).name).toBe(composed);
  expect(await rejectionOf(createUser(podkeep.app, composed))).toMatchObject({ code: "conflict" });
  await renameUser(podkeep.app, decomposed, "ann");
  await renameUser(podkeep.app, "ann", decomposed);
  await deleteUser(podkeep.app, composed);
  await podkeep.close();
});

test("of two renames of one user at the same moment, the one that is not made fails", async () => {
  const podkeep = await openTestApp();
  const { id } = await createUser(podkeep.app, "ann");
  for (let from = "ann", round = 0; round < 10; round++) {
    const names = [`bob${round}`, `cleo${round}`];
    const renames = await Promise.allSettled(names.map((to) => renameUser(podkeep.app, from, to)));
    const made = names.filter((_, n) => renames[n]?.status === "fulfilled");
    expect(made).toEqual([(await findUserName(podkeep.app, id)) ?? ""]);
    expect(renames).toContainEqual(expect.objectContaining({ reason: expect.objectContaining({ code: "not_found" }) }));
    from = made[0] ?? "";
  }
  await podkeep.close();
});

// Vowels of Hindi and Thai are marks; no single character is a j with a caron as a capital, but a small one is.
test.each(["हिन्दी", "สมศักดิ์", "J\u030can"])("%s is a name, which may be typed in any case", async (name) => {
  const podkeep = await openTestApp();
  const { id } = await createUser(podkeep.app, ` ${name} `);
  expect(await findUserName(podkeep.app, id)).toBe(name);
  for (const typed of [name, name.toLowerCase(), name.toLowerCase().normalize("NFC")]) {
    expect(await rejectionOf(createUser(podkeep.app, typed))).toMatchObject({ code: "conflict" });
  }
  await podkeep.close();
});

test.each(["\u0301ann", "ann\u034f", "\u3164", "an n"])("%j is not a name", async (name) => {
  const podkeep = await openTestApp();
  expect(await rejectionOf(createUser(podkeep.app, name))).toMatchObject({ code: "invalid" });
  await podkeep.close();
});

test("a user whose name was allowed before is found, also one of an unseen letter", async () => {
  const podkeep = await openTestApp();
  const ann = await podkeep.user("ann");
  await podkeep.sql(`update users set name = '\u3164', name_key = '\u3164' where id = ${ann.id}`);
  expect((await actAsAdmin(podkeep.app, "\u3164", "test")).user_id).toBe(ann.id);
  await podkeep.close();
});

test("a name that is not allowed is named in the error", async () => {
  const podkeep = await openTestApp();
  expect(await settle(createUser(podkeep.app, "a b"))).toThrow('"a b" is not a user name');
  await podkeep.close();
});

test("the list of users counts the podcasts that they are subscribed to, and tokens that were not revoked", async () => {
  const podkeep = await openTestApp();
  const ann = await podkeep.user("ann");
  const phone = await ann.another();
  await ann.add("https://a.example/");
  const { guid } = await ann.add("https://b.example/");
  await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  await revokeToken(podkeep.app, phone.token.split("_")[1] ?? "");
  await podkeep.user("bob");
  expect(await listUsers(podkeep.app)).toMatchObject([
    { name: "ann", subscriptions: 1, tokens: 1 },
    { name: "bob", subscriptions: 0, tokens: 1 },
  ]);
  await podkeep.close();
});

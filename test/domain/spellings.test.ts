// How apps write feed URLs.
import { expect, test } from "bun:test";
import { inBothHosts, writeFor } from "../../src/domain/spellings.ts";

test("of a private feed, Kasts is sent the host in small letters, and name and password as they are", () => {
  for (const spelling of ["displayed", "displayed, decoded"] as const)
    expect(writeFor("https://Ann:Secret@Feeds.Example.org:8443/Show?Key=A@B", spelling)).toBe(
      "https://Ann:Secret@feeds.example.org:8443/Show?Key=A@B",
    );
});

test("a podcast at an international host is removed in letters and in ASCII, behind a name and before a port too", () => {
  const [letters, ascii] = [
    "https://Ann:Secret@müller.example:8443/Ü",
    "https://Ann:Secret@xn--mller-kva.example:8443/Ü",
  ];
  expect(inBothHosts(letters)).toEqual([letters, ascii]);
  expect(inBothHosts(ascii)).toEqual([ascii, letters]);
  expect(inBothHosts("https://example.org/ü")).toEqual(["https://example.org/ü"]);
});

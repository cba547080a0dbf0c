// OPML files of real apps, read and written.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decodeOpml, OpmlError, readOpml, readOpmlInTurns, writeOpml } from "../../src/domain/opml.ts";
import { settle } from "../support/rejection.ts";
import { countTurns } from "../support/turns.ts";

const HEAD = { title: "Subscriptions of alice", date_created: "Sat, 01 Mar 2025 10:00:00 GMT" };
const opml = (outlines: string) => `<opml version="2.0"><body>${outlines}</body></opml>`;
const textOf = (...written: Parameters<typeof writeOpml>) => [...writeOpml(...written)].join("");
const addresses = (text: string) => readOpml(text).map((feed) => feed.feed_url);

/** The OpmlError that reading throws; anything else fails the test. */
function refusal(text: string): string {
  try {
    readOpml(text);
  } catch (error) {
    if (error instanceof OpmlError) return error.message;
    throw error;
  }
  throw new Error("It was read");
}

describe("reading", () => {
  test("a Pocket Casts export gives all of its 72 podcasts, in its order", async () => {
    const file = await Bun.file(new URL("opml/subscriptions.opml", import.meta.url)).bytes();
    const feeds = readOpml(decodeOpml(file));
    expect(feeds).toHaveLength(72);
    expect(feeds[0]).toEqual({ feed_url: "https://feeds.simplecast.com/dLRotFGk", title: "Developer Tea" });
  });

  test("podcasts in folders of folders are found, in the order of the file", () => {
    const text = opml(`
      <outline text="News"><outline text="Daily"><outline text="A" xmlUrl="https://a.example/"/></outline>
      <outline text="B" xmlUrl="https://b.example/"><outline text="C" xmlUrl="https://c.example/"/></outline></outline>
      <outline text="D" xmlUrl="https://d.example/"></outline>`);
    expect(addresses(text)).toEqual([
      "https://a.example/",
      "https://b.example/",
      "https://c.example/",
      "https://d.example/",
    ]);
  });

  test("folders nested ninety deep are read", () => {
    const [open, close] = ['<outline text="f">', "</outline>"].map((tag) => tag.repeat(90));
    expect(addresses(opml(`${open}<outline xmlUrl="https://a.example/"/>${close}`))).toEqual(["https://a.example/"]);
  });

  test.each([
    ["A&amp;B &eacute;&uuml;&szlig;&Ntilde;", "A&B éüßÑ"],
    ["a&nbsp;b&mdash;c&hellip;&rsquo;&quot;&apos;&lt;", "a\u00a0b—c…’\"'<"],
    ["&#233; &#xE9; &#128251;", "é é 📻"],
    ["Q&amp;amp;A &amp;eacute;", "Q&amp;A &eacute;"],
    ["Q & A &unheard;", "Q & A &unheard;"],
    ["  &#10;spaced \n", "spaced"],
  ])("the title %j is read as %j", (written, title) => {
    expect(readOpml(opml(`<outline text="${written}" xmlUrl="https://a.example/"/>`))[0]?.title).toBe(title);
  });

  test("entities in URLs are resolved once, and a plain ampersand stays", () => {
    expect(addresses(opml(`<outline xmlUrl=" https://a.example/?x=1&amp;y=%26&z=2&amp;amp;q "/>`))).toEqual([
      "https://a.example/?x=1&y=%26&z=2&amp;q",
    ]);
  });

  test.each([
    ["xmlurl", `<outline text="T" type="rss" xmlurl="https://a.example/"/>`],
    ["xmlURL", `<outline text='T' xmlURL='https://a.example/'/>`],
    ["url with type rss", `<outline text="T" type="RSS" url="https://a.example/"/>`],
    ["url with an empty xmlUrl", `<outline text="T" type="rss" xmlUrl="" url="https://a.example/"/>`],
    ["upper case", `<OUTLINE TEXT="T" XMLURL="https://a.example/"/>`],
    ["title without text", `<outline text="" title="T" xmlUrl="https://a.example/"/>`],
    [
      "title before text, where gPodder writes the description",
      `<outline title="T" text="other" xmlUrl="https://a.example/"/>`,
    ],
    ["an outline that is not closed", `<outline text="T" xmlUrl="https://a.example/">`],
  ])("a podcast is found by %s", (_, outline) => {
    expect(readOpml(opml(outline))).toEqual([{ feed_url: "https://a.example/", title: "T" }]);
  });

  test("a podcast that Overcast lists, but that is not subscribed to, is left out", () => {
    const outline = (name: string, subscribed: string) =>
      `<outline type="rss" overcastId="1" text="${name}" xmlUrl="https://${name}.example/" subscribed="${subscribed}"><outline type="podcast-episode" overcastId="2" title="One" url="https://${name}.example/1" enclosureUrl="https://${name}.example/1.mp3" played="1"/></outline>`;
    expect(addresses(opml(outline("kept", "1") + outline("left", "0")))).toEqual(["https://kept.example/"]);
  });

  test("a podcast without a title has none", () => {
    expect(readOpml(opml(`<outline xmlUrl="https://a.example/"/>`))[0]?.title).toBeNull();
  });

  test("a link that is not a feed, a folder, and what is no outline, are not podcasts", () => {
    expect(
      readOpml(
        opml(
          `<outline type="link" url="https://a.example/"/><outline text="Folder" xmlUrl=" "/><note xmlUrl="https://a.example/"/>`,
        ),
      ),
    ).toEqual([]);
  });

  test("a URL that comes twice counts once, with its first title; another spelling is another URL", () => {
    const outline = (title: string, url: string) => `<outline text="${title}" xmlUrl="${url}"/>`;
    const text = opml(
      outline("1", "https://a.example/") + outline("2", "https://a.example/") + outline("3", "https://a.example"),
    );
    expect(readOpml(text)).toEqual([
      { feed_url: "https://a.example/", title: "1" },
      { feed_url: "https://a.example", title: "3" },
    ]);
  });

  test("byte order mark, DOCTYPE, comments, CDATA, upper-case tags and Windows line ends are accepted", () => {
    const text = `\ufeff<?xml version="1.0"?>\r\n<!DOCTYPE opml [<!ENTITY who "me">]><!-- <opml> -->\r\n<OPML VERSION="1.1">
      <HEAD><OWNERNAME><![CDATA[> <outline xmlUrl="https://no.example/"/>]]></OWNERNAME></HEAD>\r\n<BODY>
      <!-- <outline xmlUrl="https://no.example/"/> --><OUTLINE text="By &who;"\r\n\txmlUrl="https://a.example/"/></BODY></OPML>\r\n`;
    expect(readOpml(text)).toEqual([{ feed_url: "https://a.example/", title: "By &who;" }]);
  });

  test("a list without podcasts is valid", () => {
    expect(readOpml(opml(""))).toEqual([]);
  });
});

describe("what is not OPML is refused with the reason", () => {
  const whole = opml(`<outline text="A" xmlUrl="https://user:secret@a.example/"/>`);
  test.each([
    ["an empty file", "", "The file is empty"],
    ["white space", "\ufeff \n", "The file is empty"],
    ["a web page", `<!doctype html><html><script>if (a<b) c="</script><body><p>Hi`, "The file is not OPML"],
    ["JSON", `{"opml": ["https://a.example/"]}`, "The file is not OPML"],
    ["RSS", `<rss><channel><title>&lt;opml></title></channel></rss>`, "The file is not OPML"],
    ["RSS with an OPML in it", `<rss>${whole}</rss>`, "The file is not OPML"],
    ["an OPML without a body", `<opml version="2.0"><head/></opml>`, "The OPML file has no body"],
    [
      "a file cut off between tags",
      whole.slice(0, whole.indexOf("</body>")),
      "The OPML file is cut off: its end is missing",
    ],
    ["a file cut off in a tag", whole.slice(0, whole.indexOf("@")), "The OPML file is cut off: its end is missing"],
    [
      "a file with folders nested deeper than people make them",
      opml(`${"<outline>".repeat(800_000)}${"</outline>".repeat(800_000)}`),
      "The file has more than 100 elements within one another",
    ],
    ["a file with a million outlines", opml("<outline/>".repeat(1_000_000)), "The file has more than 100000 elements"],
    [
      "a file with a million attributes",
      opml(`<outline ${Array.from({ length: 1_000_000 }, (_, n) => `a${n}=""`).join(" ")}/>`),
      "The file has an element with more than 100 attributes",
    ],
    [
      "a file with attributes of many names",
      opml(Array.from({ length: 1100 }, (_, n) => `<outline a${n}=""/>`).join("")),
      "The file has attributes with more than 1000 different names",
    ],
    ["a file over the limit", opml(" ".repeat(17 * 1024 * 1024)), "The file is larger than 16 MB"],
  ])("%s", (_, text, message) => {
    expect(refusal(text)).toBe(message);
  });

  test("entities that grow when they are resolved stay as they are", () => {
    const entities = Array.from({ length: 20 }, (_, n) => `<!ENTITY e${n + 1} "&e${n};&e${n};&e${n};&e${n};">`).join(
      "",
    );
    const text = `<!DOCTYPE opml [<!ENTITY e0 "lol">${entities}]>${opml('<outline text="&e20;" xmlUrl="https://a.example/"/>')}`;
    expect(readOpml(text)).toEqual([{ feed_url: "https://a.example/", title: "&e20;" }]);
    const file = '<!DOCTYPE opml [<!ENTITY e SYSTEM "file:///etc/passwd">]>';
    expect(readOpml(file + opml('<outline text="&e;" xmlUrl="https://a.example/"/>'))[0]?.title).toBe("&e;");
  });

  test("a file that is read in turns gives the same, and others get their turn", async () => {
    const outlines = Array.from(
      { length: 5000 },
      (_, n) => `<outline text="Ü&eacute;📻${n}" xmlUrl="https://${n}.example/"/>`,
    );
    const text = opml(outlines.join("\n"));
    const { turns, result } = await countTurns(() => readOpmlInTurns(text));
    expect(result).toEqual(readOpml(text));
    expect(turns).toBeGreaterThan(2);
    expect(await settle(readOpmlInTurns(text.slice(0, -20)))).toThrow("cut off");
  });

  test("a file cut off anywhere, without a URL in the message", () => {
    for (let end = 0; end < whole.length; end++)
      expect(refusal(whole.slice(0, end))).toMatch(/^The (OPML )?file [^/@]+$/);
  });

  test("any text is read or refused", () => {
    const pieces = fc.constantFrom(
      "<",
      ">",
      "/",
      "<!--",
      "<![CDATA[",
      "<!DOCTYPE ",
      "[",
      "&",
      ";",
      '"',
      "opml",
      "body",
      "=",
      "?",
    );
    const soup = fc.array(fc.oneof(pieces, fc.string({ unit: "binary" }))).map((parts) => parts.join(""));
    fc.assert(
      fc.property(soup, fc.boolean(), (text, inside) => {
        try {
          readOpml(inside ? opml(text) : text);
        } catch (error) {
          expect(error).toBeInstanceOf(OpmlError);
        }
      }),
    );
  });

  test("entities that the file declares are not expanded, so none can grow or read a file", () => {
    const outline = (entity: string) => opml(`<outline text="${entity}" xmlUrl="https://a.example/"/>`);
    for (const declared of [`"${"a".repeat(9999)}"`, 'SYSTEM "file:///etc/hostname"']) {
      const text = `<!DOCTYPE opml [<!ENTITY a ${declared}>]>${outline("&a;&a;")}`;
      expect(readOpml(text)).toEqual([{ feed_url: "https://a.example/", title: "&a;&a;" }]);
    }
  });

  test("names of Object's properties are names like others", () => {
    const text = opml(`<__proto__ a='b'/><outline __proto__="x" constructor="y" xmlUrl="https://a.example/"/>`);
    expect(readOpml(text)).toEqual([{ feed_url: "https://a.example/", title: null }]);
  });
});

describe("decoding", () => {
  const text = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?><opml>é€</opml>`;
  const utf16 = (little: boolean, mark = "\ufeff") => {
    const bytes = Buffer.from(`${mark}${text("utf-16")}`, "utf16le");
    return little ? bytes : bytes.swap16();
  };
  test.each([
    ["UTF-8", Buffer.from(text("UTF-8")), text("UTF-8")],
    [
      "UTF-8 with a byte order mark, whichever encoding it declares",
      Buffer.from(`\ufeff${text("latin1")}`),
      text("latin1"),
    ],
    ["UTF-8 undeclared", Buffer.from("<opml>é€</opml>"), "<opml>é€</opml>"],
    ["UTF-8 that claims to be UTF-16, as .NET writes it", Buffer.from(text("utf-16")), text("utf-16")],
    ["UTF-8 that claims to be UTF-16 by another name", Buffer.from(text("Unicode")), text("Unicode")],
    ["UTF-16, little end first", utf16(true), text("utf-16")],
    ["UTF-16, big end first", utf16(false), text("utf-16")],
    ["UTF-16 without a byte order mark, little end first", utf16(true, ""), text("utf-16")],
    ["UTF-16 without a byte order mark, big end first", utf16(false, ""), text("utf-16")],
    ["windows-1252", Buffer.from(text("windows-1252").replace("€", "\x80"), "latin1"), text("windows-1252")],
    ["ISO-8859-1", Buffer.from(text("ISO-8859-1").replace("€", ""), "latin1"), text("ISO-8859-1").replace("€", "")],
    ["windows-1252 that claims to be UTF-8", Buffer.from(text("UTF-8").replace("€", "\x80"), "latin1"), text("UTF-8")],
    [
      "UTF-8 with a broken letter",
      Buffer.concat([Buffer.from(text("UTF-8")), Buffer.of(0xe9)]),
      `${text("UTF-8")}\ufffd`,
    ],
    ["UTF-8 with the sign for a broken letter", Buffer.from("<opml>\ufffd</opml>"), "<opml>\ufffd</opml>"],
    ["nothing", Buffer.from(""), ""],
  ])("%s is understood", (_, bytes, decoded) => {
    expect(decodeOpml(bytes)).toBe(decoded);
  });

  test("an unknown encoding is refused by its name", () => {
    expect(() => decodeOpml(Buffer.from(text("x-klingon")))).toThrow(
      new OpmlError('The file\'s encoding "x-klingon" is not supported'),
    );
  });

  test("a picture is refused", () => {
    const png = Buffer.from("89504e470d0a1a0a0000000d49484452003c3f786d6c3c00ff", "hex");
    expect(refusal(decodeOpml(png))).toBe("The file is not OPML");
  });
});

describe("writing", () => {
  test("the file is OPML 2.0 with one podcast per line, everything escaped", () => {
    const feeds = [
      { feed_url: "https://a.example/?x=1&y='2'", title: 'Tom & "Jerry" <live>\n' },
      { feed_url: "https://user:secret@b.example:8080/feed?key=1", title: null },
    ];
    expect(textOf(feeds, { title: "A & B's", date_created: HEAD.date_created })).toBe(
      `<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0">
  <head>
    <title>A &amp; B&#x27;s</title>
    <dateCreated>Sat, 01 Mar 2025 10:00:00 GMT</dateCreated>
  </head>
  <body>
    <outline type="rss" text="Tom &amp; &quot;Jerry&quot; &lt;live&gt;&#10;" xmlUrl="https://a.example/?x=1&amp;y=&#x27;2&#x27;"/>
    <outline type="rss" text="b.example" xmlUrl="https://user:secret@b.example:8080/feed?key=1"/>
  </body>
</opml>
`,
    );
  });

  test("a list of any length is written whole", () => {
    const feeds = Array.from({ length: 130 }, (_, n) => ({ feed_url: `https://${n}.example/`, title: `${n}` }));
    expect(readOpml(textOf(feeds, HEAD))).toEqual(feeds);
  });

  test("an empty list can be written and read", () => {
    expect(readOpml(textOf([], HEAD))).toEqual([]);
  });

  test("characters that XML can't contain are replaced in titles and percent-encoded in URLs", () => {
    const feeds = [{ feed_url: "https://a.example/\u0001\ud800\uffff", title: "a\u0000b\ud800" }];
    expect(readOpml(textOf(feeds, HEAD))).toEqual([
      { feed_url: "https://a.example/%01\ufffd%EF%BF%BF", title: "a\ufffdb\ufffd" },
    ]);
  });

  test("what is written is read back the same, URLs exactly", () => {
    const odd = fc.constantFrom(
      "&",
      "&amp;",
      "&eacute;",
      "&#38;",
      '"',
      "'",
      "<",
      "]]>",
      "-->",
      "é",
      "📻",
      "\t",
      "\r\n",
      "%",
      "\u0085",
      "\u2028",
    );
    const text = fc
      .array(fc.oneof(odd, fc.string({ unit: "grapheme" })), { minLength: 1 })
      .map((parts) => parts.join("").trim())
      .filter((whole) => whole !== "");
    const address = fc.oneof(
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
      text.map((rest) => `https://user:pass@a.example/feed?${rest}`),
    );
    const feeds = fc.uniqueArray(fc.record({ feed_url: address, title: text }), { selector: (feed) => feed.feed_url });
    fc.assert(
      fc.property(feeds, text, (list, title) => {
        expect(readOpml(textOf(list, { ...HEAD, title }))).toEqual(list);
      }),
    );
  });
});

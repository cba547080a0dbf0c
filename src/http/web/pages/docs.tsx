// The API reference: its head, its routes with a form each, and its schemas.
/** @jsxImportSource hono/jsx */
import { type Content, type Document, type Route, routesOf, type Schema } from "../api-document.ts";
import { Submit } from "../fields.tsx";
import { texts } from "../texts.ts";

const nameOf = (ref: string | undefined) => ref?.split("/").at(-1) ?? "";

export function Reference({ document }: { document: Document }) {
  const { docs } = texts;
  const routes = routesOf(document);
  const { info, components } = document;
  return (
    <>
      <h1>{docs.title}</h1>
      <p>
        <Prose text={info.description} />
      </p>
      <p>
        <a href="/">{texts.name}</a> · {docs.version} {info.version} · <a href="/openapi.json">openapi.json</a> ·{" "}
        {docs.base} <code>/</code> <code>/v1</code>
      </p>
      <p>
        <Prose text={docs.others} />
      </p>
      <ul>
        {docs.protocols.map((protocol) => (
          <li>{protocol}</li>
        ))}
      </ul>
      <p>{docs.auth}</p>
      <pre tabindex={0}>
        <code>Authorization: Bearer TOKEN</code>
      </pre>
      <div class="field" data-try hidden>
        <label for="token">{docs.token}</label>
        <input id="token" type="password" autocomplete="off" spellcheck={false} aria-describedby="token-note" />
        <p class="small muted" id="token-note">
          {docs.tokenNote}
        </p>
      </div>
      <ul>
        {routes.map(({ method, path, operation }) => (
          <li>
            <a href={`#${operation.operationId}`}>
              {method} {path}
            </a>{" "}
            {operation.summary}
          </li>
        ))}
        <li>
          <a href="#schemas">{docs.schemas}</a>
        </li>
      </ul>
      {routes.map((route) => (
        <RouteSection route={route} document={document} />
      ))}
      <h2 id="schemas">{docs.schemas}</h2>
      {Object.entries(components.schemas).map(([name, schema]) => (
        <section>
          <h3 id={`schema-${name}`}>{name}</h3>
          {Object.keys(schema.properties).length > 0 && (
            <Table
              head={[docs.field, docs.type, docs.meaning]}
              rows={Object.entries(schema.properties).map(([field, one]) => [
                <code>{schema.required?.includes(field) ? field : `${field}?`}</code>,
                <TypeOf schema={one} />,
                <Prose text={one.description ?? ""} />,
              ])}
            />
          )}
        </section>
      ))}
    </>
  );
}

function RouteSection({ route, document }: { route: Route; document: Document }) {
  const { docs } = texts;
  const { method, path, operation } = route;
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  return (
    <section>
      <h2 id={operationId}>
        <code>
          {method} {path}
        </code>
      </h2>
      <p>
        {summary}. <Prose text={description} />
      </p>
      {parameters.length > 0 && (
        <Table
          head={[docs.parameter, docs.type, docs.meaning]}
          rows={parameters.map((one) => [
            <code>{one.required ? one.name : `${one.name}?`}</code>,
            `${one.in}, ${[one.schema.type].flat().join(" | ")}`,
            <Prose text={one.description} />,
          ])}
        />
      )}
      {requestBody && (
        <>
          <h3>{docs.request}</h3>
          <Body content={requestBody.content} document={document} />
        </>
      )}
      <TryIt route={route} document={document} />
      <h3>{docs.responses}</h3>
      {Object.entries(responses).map(([status, response]) => (
        <details open={status.startsWith("2")}>
          <summary>
            <code>{status}</code>
            <span>
              <Prose text={response.description} />
            </span>
          </summary>
          {Object.entries(response.headers).map(([name, header]) => (
            <p class="small">
              <code>{name}</code> <Prose text={header.description ?? ""} />
            </p>
          ))}
          {response.content && <Body content={response.content} document={document} />}
        </details>
      ))}
    </section>
  );
}

/** A form that sends the request; try-it.js shows it. */
function TryIt({ route: { method, path, operation }, document }: { route: Route; document: Document }) {
  const { docs } = texts;
  const { operationId, parameters, requestBody } = operation;
  const body = requestBody && JSON.stringify(exampleOf(requestBody.content, document), null, 2);
  return (
    <details class="more" data-try hidden>
      <summary>{docs.tryIt}</summary>
      <form action={path} data-method={method} data-failed={docs.noResponse}>
        {parameters.map(({ name, in: place, required }) => (
          <div class="field">
            <label for={`${operationId}-${name}`}>{name}</label>
            <input
              id={`${operationId}-${name}`}
              name={name}
              data-in={place}
              required={required}
              aria-invalid="false"
              autocomplete="off"
              spellcheck={false}
            />
          </div>
        ))}
        {body && (
          <>
            <label for={`${operationId}-body`}>{docs.body}</label>
            <textarea id={`${operationId}-body`} name="body" rows={body.split("\n").length} spellcheck={false}>
              {body}
            </textarea>
          </>
        )}
        {method !== "GET" && <p class="small muted">{docs.changes}</p>}
        <Submit>{docs.send}</Submit>
        <output hidden>
          <pre tabindex={0} />
          {docs.command}
          <pre tabindex={0} />
        </output>
      </form>
    </details>
  );
}

/** A text with `code`. */
function Prose({ text }: { text: string }) {
  return <>{text.split("`").map((part, n) => (n % 2 === 1 ? <code>{part}</code> : part))}</>;
}

const schemaOf = (content: Content) => nameOf(content["application/json"]?.schema?.$ref);

function exampleOf(content: Content, { components }: Document): unknown {
  const [first] = Object.values(content["application/json"]?.examples ?? {});
  return first?.value ?? components.schemas[schemaOf(content)]?.example;
}

function Body({ content, document }: { content: Content; document: Document }) {
  const name = schemaOf(content);
  const example = exampleOf(content, document);
  return (
    <>
      {name && (
        <p class="small">
          <a href={`#schema-${name}`}>{name}</a>
        </p>
      )}
      {example !== undefined && (
        <pre tabindex={0}>
          <code>{JSON.stringify(example, null, 2)}</code>
        </pre>
      )}
    </>
  );
}

function TypeOf({ schema }: { schema: Schema }) {
  const name = nameOf(schema.$ref);
  if (name) return <a href={`#schema-${name}`}>{name}</a>;
  const type = [schema.type].flat().filter(Boolean).join(" | ");
  return <>{schema.format ? `${type} (${schema.format})` : type}</>;
}

function Table({ head, rows }: { head: string[]; rows: unknown[][] }) {
  return (
    <div class="scroll" tabindex={0}>
      <table>
        <thead>
          <tr>
            {head.map((text) => (
              <th scope="col">{text}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

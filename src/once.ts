// Values that are made when they are first needed.

/** Makes a function that calls `make` the first time, and gives that value every time. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

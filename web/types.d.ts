// What today's browsers have, and Debian's TypeScript does not know.
interface MapConstructor {
  groupBy<K, V>(values: Iterable<V>, keyOf: (value: V) => K): Map<K, V[]>;
}

interface Array<T> {
  findLast(is: (value: T) => boolean): T | undefined;
  findLastIndex(is: (value: T) => boolean): number;
  toSorted(compare?: (a: T, b: T) => number): T[];
  toSpliced(from: number, count: number, ...values: T[]): T[];
}

interface Float64Array {
  findLast(is: (value: number) => boolean): number | undefined;
}

// Events of the server have data.
interface Event {
  data?: any;
}

// What the documentation's search knows, of the file search-index.js: of each page its address and entries.
declare var rtrainPages: [address: string, entries: [title: string, id: string, kind: string, text: string][]][];

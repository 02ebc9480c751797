/** Everything was reset before a scrape: adding sets. */
export type SetValue = (name: string, help: string, labels: Record<string, string>, value: number) => void;

export async function topics(_args: readonly string[]): Promise<number> {
  return 0;
}

/** `response.http.headers.config`: a comma-separated list of `[set|add|setDate|addDate] Name:Value`; commas inside double quotes separate nothing. */
import type { FastifyInstance } from 'fastify';
import { ConnectError } from '../api/index.ts';

interface HeaderRule {
  readonly add: boolean;
  readonly name: string;
  readonly value: string;
}

export function parseHeaderRules(text: string): HeaderRule[] {
  const parts = text.match(/(?:"[^"]*"|[^,"])+/g) ?? [];
  return parts
    .map(part =>
      part
        .trim()
        .replace(/^"([\s\S]*)"$/, '$1')
        .trim(),
    )
    .filter(part => part !== '')
    .map(part => {
      const [, action, name, value] = /^(setDate|addDate|set|add)\s+([^\s:]+)\s*:\s*([\s\S]*)$/.exec(part) ?? [];
      if (action === undefined) {
        throw new ConnectError(
          'CONFIG_INVALID',
          `Invalid value ${part} for configuration response.http.headers.config: expected "[set|add|setDate|addDate] Name:Value"`,
        );
      }
      return { add: action.startsWith('add'), name: name!, value: value!.trim() };
    });
}

export function addResponseHeaders(app: FastifyInstance, text: string): void {
  const rules = parseHeaderRules(text);
  if (rules.length === 0) return;
  app.addHook('onSend', async (_request, reply) => {
    for (const { add, name, value } of rules) {
      const before = reply.getHeader(name);
      reply.header(name, add && before !== undefined ? `${String(before)}, ${value}` : value);
    }
  });
}

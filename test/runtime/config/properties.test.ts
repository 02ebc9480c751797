import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProperties } from '../../../runtime/config/properties.ts';

const parsed = (text: string) => Object.fromEntries(parseProperties(text));

test('separators, comments and blank lines', () => {
  const text = '# a\n! b\n\n  k1=v1\nk2 : v2\nk3 v3\r\nk4\t=\tv4 \nempty=\nalone\nk5=a=b:c #no comment\n';
  assert.deepEqual(parsed(text), {
    k1: 'v1',
    k2: 'v2',
    k3: 'v3',
    k4: 'v4 ',
    empty: '',
    alone: '',
    k5: 'a=b:c #no comment',
  });
});

test('continuation lines drop white space at their start, and may look like comments', () => {
  assert.deepEqual(parsed('servers=a:1,\\\n    b:2,\\\n\t#c:3\nnext=1\\\\\nlast=x\\'), {
    servers: 'a:1,b:2,#c:3',
    next: '1\\',
    last: 'x',
  });
});

test('escapes in keys and values', () => {
  const text = 'a\\ b\\=c\\:d=1\npath=C:\\\\dir\\q\nuni=\\u00e9\\t\\n|\nsame=1\nsame=2';
  assert.deepEqual(parsed(text), { 'a b=c:d': '1', path: 'C:\\dirq', uni: 'é\t\n|', same: '2' });
});

test('a byte order mark is not part of the first key', () => {
  assert.deepEqual(parsed('\ufeffa=1'), { a: '1' });
});

// Appends what `node --test` reports to a new file in the folder $SPOOL_RESULTS, one JSON line per event.
//
// Loaded by `--require` in NODE_OPTIONS, so that it changes neither the reporters nor what is printed. A reporter in
// NODE_OPTIONS would end a command that names its own: node wants as many destinations as reporters.
'use strict';

const LIMIT = 20000;

function text(error) {
  const cause = error && error.cause !== undefined && error.cause !== null ? error.cause : error;
  return String((cause && (cause.stack || cause.message)) || cause || '').slice(0, LIMIT);
}

function report(folder) {
  const fs = require('fs');
  const path = require('path');
  const { Readable } = require('stream');
  const name = `node-${String(Date.now() * 1000).padStart(20, '0')}-${process.pid}.jsonl`;
  const cwd = process.cwd();
  const file = path.join(folder, name);
  const write = (line) => fs.appendFileSync(file, JSON.stringify(line) + '\n', { mode: 0o600 });
  const relative = (name) => (typeof name === 'string' && path.isAbsolute(name) ? path.relative(cwd, name) : name);

  const lines = {
    'test:pass': (data) => ({ ...result(data), passed: true }),
    'test:fail': (data) => ({ ...result(data), passed: false, text: text(data.details && data.details.error) }),
    'test:diagnostic': (data) => {
      const count = data.nesting === 0 && !data.file && /^tests (\d+)$/.exec(data.message);
      return count ? { end: Number(count[1]) } : null;
    },
  };
  function result(data) {
    const suite = Boolean(data.details && data.details.type === 'suite');
    const said = (value) => value !== undefined && value !== false;
    const place = { name: relative(data.name), nesting: data.nesting, file: relative(data.file) || '', suite };
    return { ...place, skip: said(data.skip), todo: said(data.todo) };
  }

  write({ node: process.version });
  const emit = Readable.prototype.emit;
  Readable.prototype.emit = function (type, data, ...rest) {
    if (typeof type === 'string' && lines[type] && data && this.constructor.name === 'TestsStream') {
      try {
        const line = lines[type](data);
        if (line) write(line);
      } catch {
        // The end mark does not match what was written; the user's tests continue.
      }
    }
    return emit.call(this, type, data, ...rest);
  };
}

// Jest and Vitest take no reporter from the environment, and name only what fails unless they are asked to. Put before
// the other words: a `--` may stand among them.
function askForNames() {
  const asked = (...flags) => process.argv.some((word) => flags.includes(word.split('=')[0]));
  const program = /(?:^|[\\/])(jest|vitest)(?:\.[cm]?js)?$/.exec(process.argv[1] || '');
  if (program && program[1] === 'jest' && !asked('--verbose', '--json', '--silent', '--reporters', '--version', '--help')) {
    process.argv.splice(2, 0, '--verbose');
  } else if (program && program[1] === 'vitest' && !asked('--reporter', '--version', '--help')) {
    process.argv.splice(2, 0, '--reporter=verbose');
  }
}

const folder = process.env.SPOOL_RESULTS;
if (folder) askForNames();
if (folder && process.execArgv.includes('--test')) {
  // Taken out of the environment: a run that a test starts reports to that test alone.
  delete process.env.SPOOL_RESULTS;
  try {
    report(folder);
  } catch {
    // Without results, the command still runs.
  }
}

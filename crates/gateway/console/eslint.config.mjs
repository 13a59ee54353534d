// What the type checker does not see. Types themselves, unknown names and unused ones are its business.

const never = (property, why) => ({ property, message: why });
const onlyText = 'text from data must stay text: see dom.js';

export default [
  {
    files: ['**/*.js'],
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      curly: ['error', 'multi-line'],
      eqeqeq: 'error',
      'max-lines': ['error', 400],
      'max-lines-per-function': ['error', 80],
      'no-console': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-param-reassign': 'error',
      'no-restricted-properties': [
        'error',
        never('innerHTML', onlyText),
        never('outerHTML', onlyText),
        never('insertAdjacentHTML', onlyText),
        never('write', onlyText),
        never('setHTMLUnsafe', onlyText),
      ],
      'no-self-compare': 'error',
      'no-shadow': 'error',
      'no-template-curly-in-string': 'error',
      'no-unmodified-loop-condition': 'error',
      'no-unused-private-class-members': 'error',
      'no-useless-concat': 'error',
      'no-useless-return': 'error',
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'prefer-template': 'error',
    },
  },
];

// The script of the pages that `rtrain doc --html` writes: the theme, and the search.
import {themeSwitch} from '../base/theme.js';
import {searchField} from './search.js';

document.addEventListener('DOMContentLoaded', () => {
  document.querySelector('.tools').append(searchField(), themeSwitch());
});

"""template_oracle.py FILE: writes chat templates, variables and what transformers' Jinja makes of them.

A JSON text in each line; without "want" where it raises an error.
"""

import json
import sys

import jinja2
from transformers.utils.chat_template_utils import _compile_jinja_template

import template_cases


def rendered(template, variables):
    try:
        return _compile_jinja_template(template).render(**variables)
    except (jinja2.TemplateError, TypeError):
        return None


def main():
    with open(sys.argv[1], "w") as lines:
        for name, template, variables in template_cases.cases():
            case = {"name": name, "template": template, "variables": variables, "want": rendered(template, variables)}
            lines.write(json.dumps({key: value for key, value in case.items() if value is not None}) + "\n")


if __name__ == "__main__":
    main()

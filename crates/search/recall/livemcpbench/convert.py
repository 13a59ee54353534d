#!/usr/bin/env python3
"""Makes sets for `cargo xtask recall` of LiveMCPBench's tools and tasks: convert.py TOOLS.json ANNOTATIONS.json FOLDER

TOOLS.json is tools/LiveMCPTool/tools.json of github.com/icip-cas/LiveMCPBench at 3c0aabcb9daef8fbb7ab35738c53fdbd2a6ce376,
ANNOTATIONS.json is annotated_data/all_annotations.json of github.com/Q-qiuqiu/LiveMCPBench at
0fbc3a1894fdf74272b42e41daad5b8988ed8c02. Neither repository has a licence that could be found, so their texts are not stored
here; labels.txt has the first digits of each task's id, and the names of the tools that a reader chose for its steps.

In FOLDER are then three sets, which differ in what counts as a hit: `steps` (the tool that a reader chose for the step), `places`
(the tool at the step's place, in tasks with as many tools as steps), `tasks` (any tool of the step's task).
"""

import hashlib
import json
import re
import sys
from pathlib import Path

TASKS, STEPS, TOOLS = 95, 267, 527


def main(tools_file, annotations_file, folder):
    tools = list(read_tools(json.loads(read(tools_file))))
    tasks = list(read_tasks(json.loads(read(annotations_file))))
    labels = read_labels(Path(__file__).with_name("labels.txt").read_text())
    counts = len(tasks), sum(len(task["steps"]) for task in tasks), len(tools)
    print("%d tasks, %d steps, %d tools" % counts)
    if counts != (TASKS, STEPS, TOOLS):
        print("these are not the versions that were measured: %d, %d, %d" % (TASKS, STEPS, TOOLS))
    names = {}
    for tool in tools:
        names.setdefault(tool["name"], []).append("%s__%s" % (tool["server"], tool["name"]))
    sets = {"steps": [], "places": [], "tasks": []}
    for task in tasks:
        label = labels.pop(task["id"][:8])
        for number, step in enumerate(task["steps"], 1):
            sets["tasks"].append((step, task["tools"]))
            if len(task["steps"]) == len(task["tools"]):
                sets["places"].append((step, [task["tools"][number - 1]]))
            if number in label:
                sets["steps"].append((step, label.pop(number)))
        assert not label, "%s: there is no step %s" % (task["id"], label)
    assert not labels, "there is no task %s" % list(labels)
    for name, questions in sets.items():
        write_set(folder / name, tools, questions, names)


def read(path):
    content = Path(path).read_bytes()
    print("%s  %s" % (hashlib.sha256(content).hexdigest(), path))
    return content


def read_tools(servers):
    """Yields each tool of a server once, with names and descriptions of its parameters alone."""
    seen = set()
    for server in servers:
        for key, listed in server["tools"].items():
            for tool in listed["tools"]:
                if (key, tool["name"]) in seen:
                    continue
                seen.add((key, tool["name"]))
                properties = (tool.get("inputSchema") or {}).get("properties") or {}
                described = {
                    name: {"description": schema["description"]} if "description" in (schema or {}) else {}
                    for name, schema in properties.items()
                }
                parameters = {"type": "object", "properties": described}
                description = tool.get("description") or ""
                yield {"server": key, "name": tool["name"], "description": description, "parameters": parameters}


def read_tasks(annotations):
    for task in annotations:
        said = task["Annotator Metadata"]
        yield {"id": task["task_id"], "steps": numbered(said["Steps"]), "tools": numbered(said["Tools"])}


def numbered(text):
    """Returns the lines of a numbered list, each on one line."""
    parts = re.split(r"(?:^|\n)\s*\d+\.\s*", text)
    return [" ".join(part.split()) for part in parts if part.strip()]


def read_labels(text):
    labels = {}
    for line in text.splitlines():
        task, *steps = line.split()
        pairs = (step.split("=") for step in steps)
        labels[task] = {int(number): tools.split(",") for number, tools in pairs}
    return labels


def write_set(folder, tools, questions, names):
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(tool, ensure_ascii=False) + "\n" for tool in tools)
    (folder / "tools.jsonl").write_text("".join(lines))
    lines = []
    for question, answers in questions:
        # A tool that several servers have counts at each of them.
        known = [full for answer in answers for full in names.get(answer, [])]
        if not known:
            print("%s: no tool is called %s" % (question, ", ".join(answers)))
            continue
        lines.append("%s\t%s\n" % (question, ",".join(known)))
    (folder / "questions.tsv").write_text("".join(lines))
    print("%s: %d questions" % (folder.name, len(lines)))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))

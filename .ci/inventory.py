#!/usr/bin/env python3
"""Write what is compiled into lienav: licences as a page with their texts, and a CycloneDX list of components.

    python3 .ci/inventory.py --out target/inventory

`cargo metadata` names the packages (normal and build dependencies of all features, on Linux); their sources, which
cargo has fetched, hold the texts. The same commit gives the same bytes.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MANIFESTS = (
    'Cargo.toml',
    'crates/inertial/Cargo.toml',
    'crates/space/Cargo.toml',
    'crates/tags/Cargo.toml',
    'crates/lab/Cargo.toml',
    'python/Cargo.toml',
)
TARGET = 'x86_64-unknown-linux-gnu'
NAMES = re.compile(r'(licen[sc]e|copying|copyright|unlicense|notice)', re.IGNORECASE)

# C code that a package brings along, with a licence of its own: the package, the library, its licence.
BUNDLED = {
    'libsqlite3-sys': ('SQLite', 'blessing'),
    'lz4-sys': ('LZ4', 'BSD-2-Clause'),
    'zstd-sys': ('Zstandard', 'BSD-3-Clause'),
}


def output(*command):
    """Return what a command prints; a failure ends the script with the command's own message."""
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    except FileNotFoundError:
        sys.exit(f'{command[0]} is not on PATH')
    except subprocess.CalledProcessError as error:
        sys.exit(f'{" ".join(command)} ended with {error.returncode}')
    return done.stdout


def packages(manifest):
    """Return the packages that are compiled in, by their ids, and for each the ids that it needs."""
    command = ['cargo', 'metadata', '--locked', '--all-features', '--format-version', '1']
    metadata = json.loads(output(*command, '--filter-platform', TARGET, '--manifest-path', manifest))
    needs = {
        node['id']: sorted(
            dependency['pkg']
            for dependency in node['deps']
            if any(kind['kind'] != 'dev' for kind in dependency['dep_kinds'])
        )
        for node in metadata['resolve']['nodes']
    }
    reached, queue = set(), list(metadata['workspace_members'])
    while queue:
        package = queue.pop()
        if package not in reached:
            reached.add(package)
            queue += needs[package]
    return (
        {package['id']: package for package in metadata['packages'] if package['id'] in reached},
        {package: needs[package] for package in reached},
    )


def licence(package):
    """Return the SPDX expression of a package; old manifests part alternatives by a slash."""
    stated = package['license'] or f'see {package["license_file"]}'
    return ' '.join(stated.replace('/', ' OR ').split())


def texts(package):
    """Return the texts of the licence files that lie beside the manifest."""
    folder = pathlib.Path(package['manifest_path']).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and NAMES.match(path.name))
    return [path.read_text(errors='replace').strip() for path in files]


def page(foreign):
    """Return the page: a table of all packages, and each text once with the packages that have it."""
    lines = ['# Licences of what lienav is built from', '', '| package | version | licence |', '|---|---|---|']
    lines += [f'| {package["name"]} | {package["version"]} | {licence(package)} |' for package in foreign]
    for package in foreign:
        if package['name'] in BUNDLED:
            name, own = BUNDLED[package['name']]
            lines.append(f'| {name}, within {package["name"]} | {bundled_version(package)} | {own} |')
    holders, without = {}, []
    for package in foreign:
        found = texts(package)
        if not found:
            without.append(f'{package["name"]} {package["version"]}')
        for text in found:
            same = holders.setdefault(' '.join(text.split()), (text, []))
            same[1].append(f'{package["name"]} {package["version"]}')
    lines += ['', f'Without a text beside its sources: {", ".join(without) or "none"}.']
    for text, names in holders.values():
        lines += ['', f'## {", ".join(dict.fromkeys(names))}', '', '```text', text, '```']
    return '\n'.join(lines) + '\n'


def bundled_version(package):
    """Return the version of the C library: after the plus sign of its package, or from the header of SQLite."""
    header = pathlib.Path(package['manifest_path']).parent / 'sqlite3/sqlite3.h'
    stated = re.search(r'SQLITE_VERSION +"([^"]+)"', header.read_text()) if header.exists() else None
    stated = stated or re.search(r'\+.*?(\d+\.\d.*)', package['version'])
    return stated.group(1) if stated else 'unknown'


def component(package, is_own):
    """Return a package as a component of CycloneDX 1.5."""
    entry = {
        'type': 'library',
        'bom-ref': reference(package),
        'name': package['name'],
        'version': package['version'],
        'licenses': [{'expression': licence(package)}],
    }
    if not is_own:
        entry['purl'] = f'pkg:cargo/{package["name"]}@{package["version"]}'
    if package['repository']:
        entry['externalReferences'] = [{'type': 'vcs', 'url': package['repository']}]
    if package['name'] in BUNDLED:
        name, own = BUNDLED[package['name']]
        inside = {'type': 'library', 'name': name, 'version': bundled_version(package)}
        entry['components'] = [inside | {'licenses': [{'license': {'id': own}}]}]
    return entry


def reference(package):
    """Return the name of a component within the list."""
    return f'{package["name"]}@{package["version"]}'


def bill(found, needs):
    """Return the list of components with what each of them needs."""
    edges = {}
    for package in found.values():
        below = edges.setdefault(reference(package), set())
        below |= {reference(found[other]) for other in needs[package['id']]}
    components = {reference(package): component(package, package['source'] is None) for package in found.values()}
    lienav = components.pop(next(name for name in components if name.startswith('lienav@')))
    return {
        'bomFormat': 'CycloneDX',
        'specVersion': '1.5',
        'version': 1,
        'metadata': {
            'timestamp': output('git', 'log', '-1', '--format=%cI').strip(),
            'component': lienav | {'type': 'application'},
        },
        'components': [components[name] for name in sorted(components)],
        'dependencies': [{'ref': name, 'dependsOn': sorted(edges[name])} for name in sorted(edges)],
    }


def main():
    """Write the two files and say how much is in them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--out', type=pathlib.Path, default=ROOT / 'target/inventory', metavar='DIR')
    out = parser.parse_args().out
    found, needs = {}, {}
    for manifest in MANIFESTS:
        more, edges = packages(manifest)
        found |= more
        for package, below in edges.items():
            needs[package] = sorted({*needs.get(package, []), *below})
    foreign = [package for package in found.values() if package['source'] is not None]
    foreign.sort(key=lambda package: (package['name'], package['version']))
    unstated = [package['name'] for package in foreign if not package['license']]
    out.mkdir(parents=True, exist_ok=True)
    (out / 'licences.md').write_text(page(foreign))
    (out / 'lienav.cdx.json').write_text(json.dumps(bill(found, needs), indent=1) + '\n')
    print(f'{out}: {len(foreign)} packages of others, {len(found) - len(foreign)} own')
    if unstated:
        sys.exit(f'no licence is stated by {", ".join(unstated)}')


if __name__ == '__main__':
    main()

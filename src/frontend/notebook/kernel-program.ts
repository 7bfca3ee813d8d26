/**
 * What runs quietly in the kernel. A text, because a kernel needs nothing of ours installed.
 *
 * It is executed in a namespace of its own with `args` (what to do) and `user` (the user's
 * namespace) and leaves one module, `_muster_notebook`, in `sys.modules`: what it made, so that a
 * second run does not make it twice, and its report. It never raises: an error message on the
 * kernel's output channel would show up in other people's consoles.
 */
export const KERNEL_PROGRAM = `
import json
import os
import sys
import types

MODULE = '_muster_notebook'
memory = sys.modules.get(MODULE)
if memory is None:
    memory = types.ModuleType(MODULE, 'What the cluster picker of Muster made in this kernel.')
    memory.client = None
    memory.report = None
    sys.modules[MODULE] = memory


def is_at(client, address):
    scheduler = getattr(client, 'scheduler', None)
    return getattr(scheduler, 'address', None) == address


def connect():
    os.environ['MUSTER_CLUSTER'] = args['name']
    try:
        from distributed import Client, Security
    except ImportError as error:
        return {'state': 'no-dask', 'message': str(error)}
    mine = memory.client
    theirs = user.get('client')
    if theirs is not mine and isinstance(theirs, Client) and theirs.status == 'running':
        return {'state': 'connected' if is_at(theirs, args['address']) else 'kept', 'named': True}
    if mine is None or mine.status != 'running' or not is_at(mine, args['address']):
        files = args['security']
        security = None if files is None else Security(
            require_encryption=True,
            tls_ca_file=files['caFile'],
            tls_client_cert=files['certFile'],
            tls_client_key=files['keyFile'],
        )
        fresh = Client(args['address'], security=security, timeout=args['timeout'])
        memory.client = fresh
        # Looked at again: another thread may have taken the name while we connected.
        if mine is not None and user.get('client') is mine:
            user['client'] = fresh
        if mine is not None:
            mine.close(timeout=2)
        mine = fresh
    user.setdefault('client', mine)
    return {'state': 'connected', 'named': user.get('client') is mine}


def disconnect():
    os.environ.pop('MUSTER_CLUSTER', None)
    mine = memory.client
    memory.client = None
    if mine is not None:
        if user.get('client') is mine:
            del user['client']
        mine.close(timeout=2)
    return {'state': 'disconnected'}


def find():
    distributed = sys.modules.get('distributed')
    if distributed is None:
        return {'state': 'none'}
    try:
        client = distributed.default_client()
    except ValueError:
        client = user.get('client')
    if not isinstance(client, distributed.Client) or client.status != 'running':
        return {'state': 'none'}
    security = client.security
    files = {
        'caFile': security.tls_ca_file,
        'certFile': security.tls_client_cert,
        'keyFile': security.tls_client_key,
    }
    # A Security object may also hold the texts themselves; those stay in the kernel.
    named = all(isinstance(file, str) and os.path.isfile(file) for file in files.values())
    return {
        'state': 'found',
        'address': client.scheduler.address,
        'security': files if named else None,
    }


try:
    report = {'connect': connect, 'disconnect': disconnect, 'find': find}[args['do']]()
except BaseException as error:
    words = str(error) or type(error).__name__
    report = {'state': 'failed', 'message': words[:1000]}
memory.report = json.dumps(report).encode().hex()
`;

//! Children in a pseudo terminal.

use std::io::{self, Read};
use std::process::Child;
use std::thread;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use tokio::sync::{mpsc, oneshot};

use crate::running::{Output, Waiter};
use crate::{Group, Input, Running, Spawn};

/// Pieces of output waiting to be taken; beyond that the program waits.
const QUEUE: usize = 16;

pub(crate) fn start(spawn: &Spawn, rows: u16, cols: u16) -> io::Result<Running> {
    let size = PtySize {
        rows,
        cols,
        ..PtySize::default()
    };
    let pair = native_pty_system()
        .openpty(size)
        .map_err(io::Error::other)?;
    let child: Box<dyn portable_pty::Child> = pair
        .slave
        .spawn_command(command(spawn))
        .map_err(io::Error::other)?;
    // While we hold the program's side open, its output would never end.
    drop(pair.slave);
    let child: Box<Child> = child
        .downcast()
        .map_err(|_| io::Error::other("the terminal has an unknown kind of child"))?;
    let group = Group::led_by(child.id())
        .ok_or_else(|| io::Error::other("the child has no process number"))?;
    let screen = pair.master.try_clone_reader().map_err(io::Error::other)?;
    let keyboard = pair.master.take_writer().map_err(io::Error::other)?;
    let output = Output::Screen(read_in_thread(screen)?);
    let running = Running::new(group, output, Waiter::Thread(wait_in_thread(child)?));
    Ok(running.with_input(Some(Input::keyboard(keyboard)?)))
}

fn command(spawn: &Spawn) -> CommandBuilder {
    let mut command = CommandBuilder::new(&spawn.program);
    command.args(&spawn.args);
    command.cwd(&spawn.dir);
    command.env_clear();
    for (name, value) in &spawn.env {
        command.env(name, value);
    }
    command
}

/// Ends with the terminal, or when nobody takes its output any more.
fn read_in_thread(mut screen: Box<dyn Read + Send>) -> io::Result<mpsc::Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    thread::Builder::new()
        .name("pty-output".to_owned())
        .spawn(move || {
            let mut buffer = [0; 8192];
            // Linux reports the end of a terminal as an error, not as an empty read.
            while let Ok(size @ 1..) = screen.read(&mut buffer) {
                if sender.blocking_send(buffer[..size].to_vec()).is_err() {
                    break;
                }
            }
        })?;
    Ok(receiver)
}

fn wait_in_thread(
    mut child: Box<Child>,
) -> io::Result<oneshot::Receiver<io::Result<std::process::ExitStatus>>> {
    let (sender, receiver) = oneshot::channel();
    thread::Builder::new()
        .name("pty-wait".to_owned())
        .spawn(move || {
            // Nobody may be waiting any more; the child had to be waited for all the same.
            let _ = sender.send(child.wait());
        })?;
    Ok(receiver)
}

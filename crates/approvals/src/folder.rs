//! The folder: `pending/ID.json` is locked by who waits, `decided/ID.json` is laid down once.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Serialize, de::DeserializeOwned};
use switchboard_runtime::private_files;
use tokio::sync::Notify;

use crate::{
    error::Error,
    place::{Laid, Place},
    question::{Answer, Pending},
    rules::{self, Added, Rule},
};

/// What ids are made of: nothing that looks like something else.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
const LENGTH: usize = 8;
/// How long it is known what became of a question.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder of a desk. Made when the first question is laid down.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    bell: Notify,
}

/// A question that lies in the folder for as long as this is held, whatever becomes of this process.
struct Locked {
    path: PathBuf,
    /// Its lock says that somebody waits.
    _locked: File,
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Gone already, or swept away later: nobody waits there any more.
        let _ = fs::remove_file(&self.path);
    }
}

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, bell: Notify::new() }
    }

    fn pending(&self) -> PathBuf {
        self.path.join("pending")
    }

    fn decided(&self) -> PathBuf {
        self.path.join("decided")
    }

    pub(crate) fn rules_file(&self) -> PathBuf {
        self.path.join("rules.json")
    }

    /// Makes the folders, for this user alone.
    pub(crate) fn make(&self) -> Result<(), Error> {
        for folder in [self.path.clone(), self.pending(), self.decided()] {
            private_files::create_dir(&folder).map_err(Error::file("create", &folder))?;
        }
        Ok(())
    }

    /// The ids of all questions.
    fn ids(&self) -> Result<Vec<String>, Error> {
        let folder = self.pending();
        let files = match fs::read_dir(&folder) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::file("read", &folder)(source)),
        };
        let names = files.flatten().filter_map(|file| file.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect())
    }
}

impl Place for Folder {
    fn bell(&self) -> &Notify {
        &self.bell
    }

    /// Lays a question down, complete and locked from the moment that others can see it.
    fn lay(&self, pending: &Pending) -> Result<Laid, Error> {
        self.make()?;
        let path = self.pending().join(format!("{}.json", pending.id));
        let beside = path.with_extension("new");
        let failed = || Error::file("write", &path);
        let locked = private(&beside, pending).map_err(failed())?;
        locked.lock().map_err(failed())?;
        fs::rename(&beside, &path).map_err(failed())?;
        Ok(Box::new(Locked { path, _locked: locked }))
    }

    /// The question of this id, as long as somebody waits for an answer.
    fn question(&self, id: &str) -> Result<Option<Pending>, Error> {
        let path = self.pending().join(format!("{id}.json"));
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::file("read", &path)(source)),
        };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => read(&path),
            Err(TryLockError::Error(source)) => Err(Error::file("lock", &path)(source)),
            // Whoever waited has died.
            Ok(()) => {
                let _ = fs::remove_file(&path);
                Ok(None)
            }
        }
    }

    fn questions(&self) -> Result<Vec<Pending>, Error> {
        let ids = self.ids()?;
        let questions = ids.iter().filter_map(|id| self.question(id).transpose());
        questions.collect()
    }

    /// The answer to a question, where there is one.
    fn answer(&self, id: &str) -> Result<Option<Answer>, Error> {
        read(&self.decided().join(format!("{id}.json")))
    }

    /// Lays an answer down, unless there is one: then that one is returned.
    fn answer_once(&self, id: &str, answer: &Answer) -> Result<Option<Answer>, Error> {
        let path = self.decided().join(format!("{id}.json"));
        let beside = self.decided().join(format!("{id}.{}.new", self::id()?));
        private(&beside, answer).map_err(Error::file("write", &beside))?;
        let linked = fs::hard_link(&beside, &path);
        let _ = fs::remove_file(&beside);
        match linked {
            Ok(()) => {
                self.bell.notify_waiters();
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(&path),
            Err(source) => Err(Error::file("write", &path)(source)),
        }
    }

    fn rules(&self) -> Result<Vec<Rule>, Error> {
        rules::all(self)
    }

    fn add_rule(&self, rule: Rule) -> Result<Added, Error> {
        rules::add(self, rule)
    }

    fn forget_rule(&self, id: &str) -> Result<Rule, Error> {
        rules::forget(self, id)
    }

    /// Removes old answers.
    fn sweep(&self) {
        let before = SystemTime::now() - REMEMBERED;
        for file in fs::read_dir(self.decided()).into_iter().flatten().flatten() {
            let written = file.metadata().and_then(|data| data.modified());
            if written.is_ok_and(|written| written < before) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// Whether this can be an id: it becomes part of a path.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=LENGTH).contains(&text.len()) && text.bytes().all(|byte| LETTERS.contains(&byte))
}

/// A fresh id, short enough to be typed.
pub(crate) fn id() -> Result<String, Error> {
    let mut bytes = [0_u8; LENGTH];
    getrandom::fill(&mut bytes).map_err(Error::Random)?;
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

/// Reads what we wrote; none where it is not there.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|source| Error::Format { path: path.to_owned(), source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::file("read", path)(source)),
    }
}

/// Writes a file that nobody else may read.
pub(crate) fn private(path: &Path, content: &impl Serialize) -> io::Result<File> {
    let mut file = private_files::create(path)?;
    file.write_all(&serde_json::to_vec_pretty(content)?)?;
    Ok(file)
}

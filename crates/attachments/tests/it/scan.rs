//! The virus scanner, against a stand-in that speaks its protocol.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::{NOTE, Upload, fixture_with, rejected, rejection, stored, upload};

/// What the stand-in does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behavior {
    /// Looks for the text of the test virus.
    Scan,
    /// Stops after the first chunk, because the file is too large.
    TooLarge,
    /// Closes the connection.
    Close,
}

/// A scanner in a thread of this process; it lives as long as the process.
struct StandIn {
    address: String,
    behavior: Arc<Mutex<Behavior>>,
    received: Arc<Mutex<Vec<u8>>>,
}

/// The text by which scanners are tried; in two parts, so that no scanner takes this file for it.
fn eicar() -> String {
    format!(
        "{}{}",
        r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
    )
}

fn stand_in() -> StandIn {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (behavior, received) = (Arc::new(Mutex::new(Behavior::Scan)), Arc::default());
    let one = StandIn {
        address,
        behavior: Arc::clone(&behavior),
        received: Arc::clone(&received),
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let behavior = *behavior.lock().expect("not poisoned");
            // A client may go at any time.
            let _ended = serve(stream, behavior, &received);
        }
    });
    one
}

fn serve(mut stream: TcpStream, behavior: Behavior, received: &Mutex<Vec<u8>>) -> std::io::Result<()> {
    let mut command = [0; 10];
    stream.read_exact(&mut command)?;
    assert_eq!(&command, b"zINSTREAM\0");
    if behavior == Behavior::Close {
        return Ok(());
    }
    let mut file = Vec::new();
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = usize::try_from(u32::from_be_bytes(length)).expect("short");
        if length == 0 {
            break;
        }
        let at = file.len();
        file.resize(at + length, 0);
        stream.read_exact(&mut file[at..])?;
        if behavior == Behavior::TooLarge {
            return stream.write_all(b"INSTREAM size limit exceeded. ERROR\0");
        }
    }
    let is_infected = file.windows(eicar().len()).any(|part| part == eicar().as_bytes());
    *received.lock().expect("not poisoned") = file;
    stream.write_all(match is_infected {
        true => b"stream: Eicar-Signature FOUND\0",
        false => b"stream: OK\0",
    })
}

#[actix_web::test]
async fn att_30_infected_files_are_rejected_and_nothing_is_stored_without_the_scanner() {
    let scanner = stand_in();
    let fixture = fixture_with(&format!("scan = {{ clamd = \"tcp://{}\" }}", scanner.address)).await;
    let try_upload = async |bytes: &[u8]| upload(&fixture.app, &fixture.a.token, &[], Upload { bytes, ..NOTE }).await;
    let large: Vec<u8> = (0..200_000_u32).map(|number| b'a' + (number % 23) as u8).collect();

    assert_eq!(try_upload(&large).await.status, 200);
    assert_eq!(*scanner.received.lock().expect("not poisoned"), large, "the whole file");
    let before = stored(&fixture.app).await;
    let infected = format!("{} {}", "x".repeat(70_000), eicar());
    assert_eq!(
        rejection(&try_upload(infected.as_bytes()).await),
        rejected(400, "file_infected")
    );
    for behavior in [Behavior::Close, Behavior::TooLarge] {
        *scanner.behavior.lock().expect("not poisoned") = behavior;
        let response = try_upload(&large).await;
        assert_eq!(rejection(&response), rejected(503, "scan_unavailable"), "{behavior:?}");
        assert!(response.header("retry-after").is_some());
    }
    assert_eq!(stored(&fixture.app).await, before);
}

#[actix_web::test]
async fn att_30_a_scanner_that_is_not_there_rejects_uploads() {
    let fixture = fixture_with("scan = { clamd = \"unix:/nowhere/clamd.sock\" }").await;

    let response = upload(&fixture.app, &fixture.a.token, &[], NOTE).await;

    assert_eq!(rejection(&response), rejected(503, "scan_unavailable"));
    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
}

"""Files as people have them, each made in a folder: every kind that is imported."""

import io
import zipfile

SEMICOLONS = (
    "doc_id;title;abstract;category\n"
    "7;The hive;Honey, wax and smoke in the orchard behind the mill;nature|bees\n"
    "8;A loaf;Rye, salt and a hot oven;crafts\n"
)
LATIN = "id,title,text\nk1,Köln,Straßen und Bäckereien am Fluß\nk2,Müll,Öl und Tränen\n"
NUMBERS = (
    '{"id": 1, "headline": "The hive", "body": "honey", "year": 1934,'
    ' "category": "bees"}\n'
    '{"id": 2, "headline": "A loaf", "body": "rye", "rating": 4.5,'
    ' "category": "bread"}\n'
)
TAXONOMY = (
    "id,parent,label,scope_note,synonyms\n"
    "crafts,,Crafts,what hands make,\n"
    "kilns,crafts,Kilns,ovens for clay,furnaces|ovens\n"
)
ASREVIEW = (
    "title,abstract,authors,keywords,label_included\n"
    'Wax in old hives,"We looked at wax, and at combs.","Ash, A.; Elm, E.",wax,1\n'
    "Rye in the north,We baked.,Oak O.,rye,0\n"
    "Tallow,Not read yet.,Fir F.,tallow,\n"
)
SUBJECTS = "id,subject,body\nm1,Re: the mill,It turns in the wind.\nm2,Re: tar,Boats.\n"
RIS = (
    "TY  - JOUR\r\nTI  - Wax in old hives\r\nAU  - Ash, A.\r\nAU  - Elm, E.\r\n"
    "AB  - We looked at wax,\r\nand at combs.\r\nPY  - 2014\r\nDO  - 10.1000/wax\r\n"
    "KW  - wax\r\nKW  - combs\r\nN1  - ASReview_relevant\r\nER  - \r\n\r\n"
    "TY  - JOUR\r\nT1  - Rye in the north\r\nAU  - Oak, O.\r\nN2  - We baked.\r\n"
    "Y1  - 2001\r\nN1  - ASReview_irrelevant\r\nER  - \r\n"
)
NBIB = (
    "PMID- 101\nOWN - NLM\nTI  - Wax in old\n      hives.\nAB  - We looked at wax.\n"
    "FAU - Ash, Ada\nFAU - Elm, Eve\nDP  - 2014 Mar\nJT  - Journal of hives\n"
    "LID - 10.1000/wax [doi]\nMH  - Bees\nMH  - Waxes\n\n"
    "PMID- 102\nTI  - Rye in the north.\nAB  - We baked.\nFAU - Oak, Olaf\nDP  - 2001\n"
)
ENW = (
    "%0 Journal Article\n%T Wax in old hives\n%A Ash, A.\n%A Elm, E.\n%D 2014\n"
    "%X We looked at wax.\n%R 10.1000/wax\n\n"
    "%0 Book\n%T Rye in the north\n%A Oak, O.\n%D 2001\n"
)
BIB = (
    "@article{ash2014, title = {Wax in old {H}ives}, author = {Ash, A. and Elm, E.},\n"
    "  abstract = {We looked at wax.}, year = 2014, doi = {10.1000/wax}}\n\n"
    '@book{oak2001, title = "Rye {\\"u}ber alles", author = {Oak, O.}, year = {2001}}\n'
)


def xlsx(rows, more=()):
    """Return a spreadsheet; more : the rows of a second sheet."""
    from openpyxl import Workbook

    book = Workbook()
    for row in rows:
        book.active.append(row)
    if more:
        sheet = book.create_sheet("more")
        for row in more:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


SHEET = (
    ("nr", "Title", "Description", "Class"),
    (1, "The hive", "Honey, wax and smoke in the orchard behind the old mill", "bees"),
    (2.0, "A loaf", "Rye, salt, water and a very hot oven with a heavy door", "bread"),
)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(*paragraphs, title=""):
    """Return a Word file with these paragraphs."""
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    document = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    core = (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/'
        'metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title></cp:coreProperties>"
    )
    return packed({"word/document.xml": document, "docProps/core.xml": core})


def pdf(text, title=""):
    """Return a PDF file with one line of text on its page."""
    stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
    box, fonts = "/MediaBox [0 0 612 792]", "<< /Font << /F1 5 0 R >> >>"
    parts = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R {box} /Contents 4 0 R /Resources {fonts} >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{part}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(parts) + 1
    trailer = f"<< /Size {size} /Root 1 0 R /Info 6 0 R >>"
    end = f"trailer\n{trailer}\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode()


def packed(members):
    """Return a zip archive; members : name → content."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def several():
    """Return name → content of documents that are files of their own."""
    return {
        "mill.docx": docx("The mill turns.", "It grinds rye.", title="The mill"),
        "tar.pdf": pdf("Tar for the keels of boats.", title="Tar"),
        "wick.txt": "A wick burns in tallow.",
    }
